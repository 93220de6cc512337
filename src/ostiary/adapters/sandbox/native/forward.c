/* 127.0.0.1:3128 inside, carried to a unix socket that was bound in. It looks at nothing: the far side judges. */
#define _GNU_SOURCE
#include "fence.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORT = 3128, PAIRS = 64, PIECE = 16384 };

int listen_for_proxy(void)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) < 0 || listen(fd, PAIRS) < 0)
        return -1;
    return fd;
}

static int reach(const char *proxy)
{
    struct sockaddr_un there = { .sun_family = AF_UNIX };
    strncpy(there.sun_path, proxy, sizeof there.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof there) == 0)
        return fd;
    close(fd);
    return -1;
}

/* One direction: what was read and not yet written. */
struct half { int from, to; size_t held, sent; int ended; char bytes[PIECE]; };
struct pair { int used; struct half out, back; };
static struct pair pairs[PAIRS];

/* 0 while it can go on. */
static int move(struct half *half)
{
    if (half->sent == half->held && !half->ended) {
        ssize_t got = recv(half->from, half->bytes, PIECE, MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        half->held = (size_t)got;
        half->sent = 0;
        if (got == 0) {
            half->ended = 1;
            shutdown(half->to, SHUT_WR);
        }
    }
    if (half->sent < half->held) {
        ssize_t put = send(half->to, half->bytes + half->sent, half->held - half->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        half->sent += (size_t)put;
    }
    return 0;
}

static void begin(int listener, const char *proxy)
{
    int here = accept4(listener, NULL, NULL, SOCK_CLOEXEC), there = here < 0 ? -1 : reach(proxy), place = 0;
    while (place < PAIRS && pairs[place].used)
        place++;
    if (there < 0 || place == PAIRS) {
        close(here);
        close(there);
        return;
    }
    struct pair *pair = &pairs[place];
    pair->used = 1;
    pair->out.from = pair->back.to = here;
    pair->out.to = pair->back.from = there;
    pair->out.held = pair->out.sent = pair->back.held = pair->back.sent = 0;
    pair->out.ended = pair->back.ended = 0;
}

static short wants(const struct half *in, const struct half *out)
{
    short events = 0;
    if (in->sent == in->held && !in->ended)
        events |= POLLIN;
    if (out->sent < out->held)
        events |= POLLOUT;
    return events;
}

noreturn void carry(int listener, const char *proxy)
{
    for (;;) {
        struct pollfd watched[1 + 2 * PAIRS];
        watched[0] = (struct pollfd){ listener, POLLIN, 0 };
        for (int each = 0; each < PAIRS; each++) {
            struct pair *pair = &pairs[each];
            /* A closed direction is not watched: its hang-up would wake us for ever. */
            short here = pair->used ? wants(&pair->out, &pair->back) : 0, there = pair->used ? wants(&pair->back, &pair->out) : 0;
            watched[1 + 2 * each] = (struct pollfd){ here ? pair->out.from : -1, here, 0 };
            watched[2 + 2 * each] = (struct pollfd){ there ? pair->out.to : -1, there, 0 };
        }
        if (poll(watched, 1 + 2 * PAIRS, -1) < 0 && errno != EINTR)
            _exit(1);
        for (int each = 0; each < PAIRS; each++) {
            struct pair *pair = &pairs[each];
            if (!pair->used || !(watched[1 + 2 * each].revents | watched[2 + 2 * each].revents))
                continue;
            int broken = move(&pair->out) < 0 || move(&pair->back) < 0;
            int done = pair->out.ended && pair->back.ended && pair->back.sent == pair->back.held;
            if (broken || done) {
                close(pair->out.from);
                close(pair->out.to);
                pair->used = 0;
            }
        }
        if (watched[0].revents)
            begin(listener, proxy);
    }
}
