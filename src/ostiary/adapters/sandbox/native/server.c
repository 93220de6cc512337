/* The fork server: it stays inside a sandbox that bubblewrap made and keeps runs ready, each in namespaces of its own.
 *
 * It parses nothing that a command wrote. A run that is ready takes the next message of the control socket, which is a request and
 * carries descriptors: the status socket, standard input, standard output. The run's first process tells the host when nothing else
 * of its pid namespace is left; else the host waits for its end, which the kernel allows no sooner than that.
 *
 * In a sandbox for one command alone there is no server: the first process takes the one request itself. */
#define _GNU_SOURCE
#include "fence.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a run has the machine to itself before the next one is made ready. */
enum { RUNS = 128, SPARES = 2, BREATH = 5 };

/* `view` keeps the run's mounts until after its end was seen: taking them down is slow and nobody need wait for it. */
static struct { pid_t pid; int view; } runs[RUNS];
static struct spare { pid_t pid; int link; } spares[SPARES];
static struct filter filter;
static const char *temporary_bytes;

static void read_filter(int fd)
{
    ssize_t got;
    /* Others read from the same descriptor: it must not be moved. */
    while (filter.length < sizeof filter.bytes &&
           (got = pread(fd, filter.bytes + filter.length, sizeof filter.bytes - filter.length, filter.length)) > 0)
        filter.length += (unsigned)got;
    close(fd);
    /* Without a whole filter nothing is run. */
    if (filter.length == 0 || filter.length == sizeof filter.bytes || filter.length % 8 != 0)
        _exit(3);
}

size_t receive(int from, void *bytes, size_t size, int *fds, int *count)
{
    union { char bytes[CMSG_SPACE(sizeof(int) * MOST_FDS)]; struct cmsghdr align; } held;
    struct iovec vector = { bytes, size };
    struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = held.bytes, .msg_controllen = sizeof held.bytes };
    ssize_t got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!head || head->cmsg_type != SCM_RIGHTS || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return 0;
    *count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(head), sizeof(int) * (size_t)*count);
    return (size_t)got;
}

int pass_on(int to, const char *word, const int *fds, int count)
{
    union { char bytes[CMSG_SPACE(sizeof(int) * MOST_FDS)]; struct cmsghdr align; } held = { { 0 } };
    struct iovec vector = { (char *)word, 1 };
    struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = held.bytes };
    message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
    memcpy(CMSG_DATA(head), fds, sizeof(int) * (size_t)count);
    return sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

static void prepare(int control, int events)
{
    unsigned long spaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC;
    int link[2];
    struct spare *spare = spares;
    while (spare < spares + SPARES && spare->pid)
        spare++;
    if (spare == spares + SPARES || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, link) < 0)
        return;
    pid_t pid = (pid_t)syscall(SYS_clone, spaces | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        close(events);
        close(link[0]);
        for (int each = 0; each < RUNS; each++)
            if (runs[each].pid)
                close(runs[each].view);
        for (int each = 0; each < SPARES; each++)
            if (spares[each].pid)
                close(spares[each].link);
        run(control, link[1], &filter, temporary_bytes);
    }
    close(link[1]);
    if (pid > 0) {
        spare->pid = pid;
        spare->link = link[0];
    } else {
        close(link[0]);
    }
}

/* A spare has taken a request, or has ended. */
static void promote(struct spare *spare)
{
    int fds[MOST_FDS], count = 0, place = 0;
    char word;
    while (place < RUNS && runs[place].pid)
        place++;
    /* One that ended without a request shows that nothing can be made ready here; the host starts another server. */
    if (!receive(spare->link, &word, 1, fds, &count) || count != 1)
        _exit(8);
    runs[place].pid = spare->pid;
    runs[place].view = fds[0];
    close(spare->link);
    spare->pid = 0;
}

static int reap(void)
{
    int running = 0;
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (int each = 0; each < SPARES; each++)
            if (spares[each].pid == pid)
                promote(&spares[each]);
        for (int each = 0; each < RUNS; each++)
            if (runs[each].pid == pid) {
                close(runs[each].view);
                runs[each].pid = 0;
            }
    }
    for (int each = 0; each < RUNS; each++)
        running += runs[each].pid != 0;
    return running;
}

static void start_forwarding(int control, const char *proxy)
{
    int listener = listen_for_proxy();
    pid_t pid = listener < 0 ? -1 : fork();
    if (pid < 0)
        _exit(6);
    if (pid == 0) {
        close(control);
        /* Where it is among the run's own processes, a polite end is not for it: they may still need it. */
        signal(SIGTERM, SIG_IGN);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || drop_capabilities() || set_filter(&filter))
            _exit(6);
        carry(listener, proxy);
    }
    close(listener);
}

/* When the machine has no memory left, it is a command that ends, not the gateway. Everything we start inherits this. */
static void offer_ourselves(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    (void)!write(fd, "1000", 4);
    close(fd);
}

static int ready_spares(void)
{
    int found = 0;
    for (int each = 0; each < SPARES; each++)
        found += spares[each].pid != 0;
    return found;
}

/* Until the host has gone, or nothing was asked for `idle` milliseconds. */
static int serve(int control, int events, int idle)
{
    /* What is to be done here can wait: it must not take the processor from a run that has just told us of itself. */
    struct sched_param none = { 0 };
    (void)sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
    prepare(control, events);
    for (int running = 0;;) {
        int spare = ready_spares();
        struct pollfd watched[2 + SPARES] = { { control, 0, 0 }, { events, POLLIN, 0 } };
        for (int each = 0; each < SPARES; each++)
            watched[2 + each] = (struct pollfd){ spares[each].pid ? spares[each].link : -1, POLLIN, 0 };
        int is_short = spare < SPARES && spare + running < RUNS;
        int ready = poll(watched, 2 + SPARES, is_short ? BREATH : running ? -1 : idle);
        if (ready < 0 && errno != EINTR)
            return 5;
        if (watched[0].revents || (ready == 0 && !is_short))
            return 0;
        struct signalfd_siginfo ignored;
        while (read(events, &ignored, sizeof ignored) > 0)
            ;
        for (int each = 0; each < SPARES; each++)
            if (spares[each].pid && watched[2 + each].revents)
                promote(&spares[each]);
        int before = running;
        running = reap();
        /* It is a good moment when a run has ended, and when nothing has happened for a while. */
        if (is_short && (ready == 0 || running < before || ready_spares() == 0))
            prepare(control, events);
    }
}

/* enter UID PLACE [NAME PATH]... -- PROGRAM WORD..., or
 * PROGRAM-FD CONTROL-FD FILTER-FD IDLE-MILLISECONDS TEMPORARY-BYTES [PROXY-SOCKET]; with no milliseconds it is for one run alone. */
int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "enter") == 0)
        enter(words + 2);
    /* Whoever started us without making a pid namespace has made nothing else either. */
    if (count < 6 || getpid() != 1)
        return 2;
    int control = atoi(words[2]), idle = atoi(words[4]);
    temporary_bytes = words[5];
    close(atoi(words[1]));
    offer_ourselves();
    prctl(PR_SET_DUMPABLE, 0);
    read_filter(atoi(words[3]));
    fcntl(control, F_SETFD, FD_CLOEXEC);
    if (count > 6)
        start_forwarding(control, words[6]);
    if (!idle)
        run(control, -1, &filter, temporary_bytes);
    int events = child_events();
    return events < 0 ? 4 : serve(control, events, idle);
}
