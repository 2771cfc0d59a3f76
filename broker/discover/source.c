#include "discover/source.h"
#include "outbound.h"

#include "ledger/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAG_MAX 256
#define CONNECT_MS 10000L
#define TRANSFER_MS 60000L
#define URL_P(text) (strncmp((text), "http", 4) == 0)

/* What tells one state of a file from the next. */
struct state {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

struct source {
	const struct conf_bundle *conf;
	const atomic_bool *stop;
	char tag[TAG_MAX], new_tag[TAG_MAX];
	struct state state, new_state;
	bool known;
	struct outbound_body body;	/* of the last look */
};

struct source *
source_new(const struct conf_bundle *conf, const atomic_bool *stop)
{
	struct source *source = calloc(1, sizeof(*source));

	if (source == NULL)
		return NULL;
	source->conf = conf;
	source->stop = stop;
	return source;
}

void
source_free(struct source *source)
{
	if (source == NULL)
		return;
	free(source->body.p);
	free(source);
}

void
source_settle(struct source *source)
{
	memcpy(source->tag, source->new_tag, sizeof(source->tag));
	source->state = source->new_state;
	source->known = true;
}

/* --- a file ------------------------------------------------------------ */

static bool
same_state(const struct state *a, const struct state *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	    a->changed.tv_sec == b->changed.tv_sec &&
	    a->changed.tv_nsec == b->changed.tv_nsec;
}

static enum source_result
look_at_fd(struct source *source, int fd, char *err, size_t err_len)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		snprintf(err, err_len, "not a regular file");
		return SOURCE_FAILED;
	}
	source->new_state = (struct state){ st.st_dev, st.st_ino, st.st_size,
	    st.st_mtim };
	if (source->known && same_state(&source->state, &source->new_state))
		return SOURCE_SAME;
	if ((uint64_t)st.st_size > source->conf->max_bytes) {
		snprintf(err, err_len, "larger than %u bytes",
		    source->conf->max_bytes);
		return SOURCE_TOO_LARGE;
	}
	source->body.len = (size_t)st.st_size;
	source->body.p = malloc(source->body.len + 1);
	if (source->body.p != NULL && io_read(fd, source->body.p,
	    source->body.len, 0) == (ssize_t)source->body.len)
		return SOURCE_CHANGED;
	snprintf(err, err_len, "cannot be read whole");
	return SOURCE_FAILED;
}

static enum source_result
look_at_file(struct source *source, char *err, size_t err_len)
{
	int fd = open(source->conf->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum source_result result;

	if (fd < 0) {
		snprintf(err, err_len, "%s", strerror(errno));
		return SOURCE_FAILED;
	}
	result = look_at_fd(source, fd, err, err_len);
	close(fd);
	return result;
}

/* --- a URL ------------------------------------------------------------- */

/* A strong or weak entity tag, sent back as it is; an odd one is forgotten. */
static size_t
take_field(char *line, size_t size, size_t count, void *arg)
{
	struct source *source = arg;
	size_t n = size * count, from = 5, to = n;

	if (n > 5 && strncasecmp(line, "HTTP/", 5) == 0)
		source->new_tag[0] = '\0';
	if (n < 6 || strncasecmp(line, "ETag:", 5) != 0)
		return n;
	while (from < to && (line[from] == ' ' || line[from] == '\t'))
		from++;
	while (to > from && strchr(" \t\r\n", line[to - 1]) != NULL)
		to--;
	if (to - from >= TAG_MAX || to - from < 2)
		return n;
	for (size_t i = from; i < to; i++)
		if (line[i] < '!' || line[i] > '~')
			return n;
	memcpy(source->new_tag, line + from, to - from);
	source->new_tag[to - from] = '\0';
	return n;
}

static int
watch_stop(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	return atomic_load(((struct source *)arg)->stop) ? 1 : 0;
}

static bool
set_up(CURL *curl, struct source *source, struct curl_slist *fields)
{
	const struct conf_bundle *conf = source->conf;

	return outbound_set(curl, conf->from, conf->ca_file) &&
	    outbound_keep(curl, &source->body) &&
	    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TRANSFER_MS) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_field) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_HEADERDATA, source) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch_stop) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, source) == CURLE_OK;
}

static enum source_result
judge(struct source *source, CURL *curl, CURLcode code, char *err,
    size_t err_len)
{
	long status = 0;

	if (source->body.overflow) {
		snprintf(err, err_len, "larger than %u bytes",
		    source->conf->max_bytes);
		return SOURCE_TOO_LARGE;
	}
	if (code != CURLE_OK) {
		snprintf(err, err_len, "%s", curl_easy_strerror(code));
		return SOURCE_FAILED;
	}
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 304 && source->tag[0] != '\0')
		return SOURCE_SAME;
	if (status == 200)
		return SOURCE_CHANGED;
	snprintf(err, err_len, "the server answers %ld", status);
	return SOURCE_FAILED;
}

static enum source_result
look_at_url(struct source *source, char *err, size_t err_len)
{
	struct curl_slist *fields = NULL;
	enum source_result result = SOURCE_FAILED;
	char field[TAG_MAX + 32];
	CURL *curl = curl_easy_init();

	source->new_tag[0] = '\0';
	if (source->tag[0] != '\0') {
		snprintf(field, sizeof(field), "If-None-Match: %s",
		    source->tag);
		fields = curl_slist_append(NULL, field);
	}
	if (curl == NULL || (source->tag[0] != '\0' && fields == NULL) ||
	    !set_up(curl, source, fields))
		snprintf(err, err_len, "out of memory, or libcurl takes no "
		    "options");
	else
		result = judge(source, curl, curl_easy_perform(curl), err,
		    err_len);
	if (curl != NULL)
		curl_easy_cleanup(curl);
	curl_slist_free_all(fields);
	return result;
}

/* --- interface ---------------------------------------------------------- */

enum source_result
source_look(struct source *source, void **bytes, size_t *len, char *err,
    size_t err_len)
{
	enum source_result result;

	source->body = (struct outbound_body){ .max = source->conf->max_bytes };
	result = URL_P(source->conf->from) ?
	    look_at_url(source, err, err_len) :
	    look_at_file(source, err, err_len);
	if (result == SOURCE_CHANGED) {
		*bytes = source->body.p;
		*len = source->body.len;
	} else {
		free(source->body.p);
	}
	source->body.p = NULL;
	return result;
}
