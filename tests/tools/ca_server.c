/*
 * A TLS server with the local CA's leaves, for clients of all kinds.
 *
 *   ca_server DIR HOST    makes DIR/ca.pem, prints its port, answers any request
 *                         until its standard input ends
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "tls/ca.h"

static int
listen_anywhere(uint16_t *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&in, len) != 0 ||
	    listen(fd, 16) != 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) != 0)
		return -1;
	*port = ntohs(in.sin_port);
	return fd;
}

static void
answer(int fd, SSL_CTX *ctx)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n"
	    "Connection: close\r\n\r\nhello\n";
	SSL *ssl = SSL_new(ctx);
	char head[8192];

	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1 && SSL_read(ssl, head, sizeof(head)) > 0) {
		SSL_write(ssl, reply, sizeof(reply) - 1);
		SSL_shutdown(ssl);
	}
	SSL_free(ssl);
}

int
main(int argc, char **argv)
{
	static const uint8_t key[32];
	struct vault_error err = { 0 };
	struct ca *ca = NULL;
	SSL_CTX *ctx;
	uint16_t port = 0;
	int fd, one;

	if (argc != 3 || (fd = listen_anywhere(&port)) < 0)
		return 3;
	if (ca_create(argv[1], key, "test", &err) != VAULT_OK ||
	    ca_open(argv[1], key, &ca, &err) != VAULT_OK) {
		fprintf(stderr, "ca_server: %s\n", err.text);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	printf("%u\n", port);
	fflush(stdout);
	for (;;) {
		struct pollfd ends[2] = { { fd, POLLIN, 0 }, { 0, POLLIN, 0 } };

		if (poll(ends, 2, -1) < 0 || ends[1].revents != 0)
			break;
		if (ends[0].revents == 0 || (one = accept(fd, NULL, NULL)) < 0)
			continue;
		if ((ctx = ca_server_ctx(ca, argv[2])) != NULL)
			answer(one, ctx);
		SSL_CTX_free(ctx);
		close(one);
	}
	ca_free(ca);
	return 0;
}
