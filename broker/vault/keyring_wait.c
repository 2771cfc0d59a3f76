#include "vault/keyring_wait.h"

static gpointer
pass(gpointer arg)
{
	const gint64 until = g_get_monotonic_time() +
	    KEYRING_WAIT_S * G_TIME_SPAN_SECOND;
	struct keyring_wait *wait = arg;
	bool late = false;

	g_mutex_lock(&wait->lock);
	while (!wait->over && !late)
		late = !g_cond_wait_until(&wait->ended, &wait->lock, until);
	late = !wait->over;
	g_mutex_unlock(&wait->lock);
	if (late)
		g_cancellable_cancel(wait->cancel);
	return NULL;
}

void
keyring_wait_begin(struct keyring_wait *wait)
{
	wait->over = false;
	wait->cancel = g_cancellable_new();
	g_mutex_init(&wait->lock);
	g_cond_init(&wait->ended);
	wait->thread = g_thread_try_new("keyring", pass, wait, NULL);
}

void
keyring_wait_end(struct keyring_wait *wait)
{
	g_mutex_lock(&wait->lock);
	wait->over = true;
	g_cond_signal(&wait->ended);
	g_mutex_unlock(&wait->lock);
	if (wait->thread != NULL)
		g_thread_join(wait->thread);
	g_cond_clear(&wait->ended);
	g_mutex_clear(&wait->lock);
	g_clear_object(&wait->cancel);
}
