/* A client of a server in the test: one request a connection, whatever bytes it has. */
#ifndef LLAP_TESTS_SERVE_CLIENT_H
#define LLAP_TESTS_SERVE_CLIENT_H

#include "check_status.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct reply {
    int    status; /* 0: the connection ended without one */
    char  *head;   /* lines of headers; the body lies behind them in one block */
    char  *body;
    size_t n;
} reply;

/* false: nobody listens. */
static inline int dial(int port)
{
    const int          fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct timeval     most = { .tv_sec = 60 };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

static inline bool put_bytes(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Chunks put together, in place. */
static inline size_t join_chunks(char *body)
{
    char  *to = body, *from = body;
    size_t n;
    while ((n = strtoul(from, &from, 16)) > 0) {
        from += 2;
        memmove(to, from, n);
        to += n;
        from += n + 2;
    }
    *to = '\0';
    return (size_t)(to - body);
}

/* Everything until the server closes. */
static inline reply get_reply(int fd)
{
    reply   r = { 0 };
    size_t  n = 0, room = 1 << 16;
    ssize_t got;
    r.head = malloc(room);
    while ((got = recv(fd, r.head + n, room - n - 1, 0)) > 0) {
        n += (size_t)got;
        if (room - n < 4096) r.head = realloc(r.head, room *= 2);
    }
    r.head[n] = '\0';
    close(fd);
    if (n < 12 || (r.body = strstr(r.head, "\r\n\r\n")) == NULL) return r;
    r.body[2] = '\0';
    r.body += 4;
    r.n = n - (size_t)(r.body - r.head);
    r.status = atoi(r.head + 9);
    if (strstr(r.head, "Transfer-Encoding: chunked") != NULL) r.n = join_chunks(r.body);
    return r;
}

/* headers: lines that end in \r\n, or "". */
static inline reply ask(int port, const char *method, const char *path, const char *headers,
                        const char *body, size_t n)
{
    const size_t room = strlen(path) + strlen(headers) + 300;
    char        *head = malloc(room);
    const int    fd = dial(port);
    if (fd < 0) {
        free(head);
        return (reply){ 0 };
    }
    snprintf(head, room, "%s %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%s", method,
             path, port, headers);
    if (body != NULL)
        snprintf(head + strlen(head), room - strlen(head), "Content-Length: %zu\r\n", n);
    strcat(head, "\r\n");
    const bool sent = put_bytes(fd, head, strlen(head)) && put_bytes(fd, body, n);
    free(head);
    (void)sent; /* who is refused may not have been read to the end */
    return get_reply(fd);
}

static inline void forget_reply(reply *r)
{
    free(r->head);
    *r = (reply){ 0 };
}

/* Status and a word of the body. */
static inline void check_reply(reply r, int status, const char *says)
{
    if (r.status != status || (says != NULL && strstr(r.body, says) == NULL))
        fail_msg("expected %d '%s', found %d: %s", status, says == NULL ? "" : says, r.status,
                 r.body == NULL ? "nothing" : r.body);
    forget_reply(&r);
}

#endif
