/* One run: the first process of a pid namespace, which puts the view in place, starts the command and ends with it.
 *
 * It gives up every capability, puts itself behind the filter and is not dumpable before it hears of a command. When this process
 * ends, for whatever reason, the kernel kills everything else in the namespace. */
#define _GNU_SOURCE
#include "fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4096 };

struct command {
    const struct request *head;
    const char *directory;
    char *words[WORDS + 1], *variables[WORDS + 1];
};

static noreturn void fail(int status, const char *step)
{
    char text[128];
    int length = snprintf(text, sizeof text, "E %s: %s", step, strerror(errno));
    (void)!send(status, text, (size_t)length, MSG_NOSIGNAL);
    _exit(1);
}

static char *next(char **at, char *end)
{
    char *text = *at, *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!stop)
        return NULL;
    *at = stop + 1;
    return text;
}

static char *map(int status, int file, size_t *length)
{
    struct stat facts;
    errno = EINVAL;
    if (fstat(file, &facts) < 0 || facts.st_size < 1)
        fail(status, "request");
    char *bytes = mmap(NULL, *length = (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        fail(status, "request");
    close(file);
    return bytes;
}

static void parse(int status, char *bytes, size_t length, struct command *command)
{
    errno = EINVAL;
    if (length < sizeof(struct request))
        fail(status, "request");
    const struct request *head = command->head = (const struct request *)bytes;
    char *at = bytes + sizeof *head, *end = bytes + length;
    if (head->magic != MAGIC || head->words < 1 || head->words > WORDS || head->variables > WORDS)
        fail(status, "request");
    command->directory = next(&at, end);
    for (uint32_t each = 0; each < head->words; each++)
        command->words[each] = next(&at, end);
    for (uint32_t each = 0; each < head->variables; each++)
        command->variables[each] = next(&at, end);
    /* If the last one is there, all before it are. */
    const char *last = head->variables ? command->variables[head->variables - 1] : command->words[head->words - 1];
    if (!last || at != end)
        fail(status, "request");
}

/* What of the view belongs to this run alone; the rest is read-only, but for the workspace. What could not be done, or NULL. */
static const char *make_view(const char *temporary_bytes)
{
    unsigned long plain = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    char options[64];
    snprintf(options, sizeof options, "size=%s,mode=1777", temporary_bytes);
    if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return "/tmp";
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return "/dev/shm";
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620") < 0)
        return "/dev/pts";
    if (mount("proc", "/proc", "proc", plain, NULL) < 0)
        return "/proc";
    if (mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, "/proc/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | plain, NULL) < 0)
        return "/proc/sys";
    return NULL;
}

const char *drop_capabilities(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    for (int each = 0, has; (has = prctl(PR_CAPBSET_READ, each, 0, 0, 0)) >= 0; each++)
        if (has && prctl(PR_CAPBSET_DROP, each, 0, 0, 0) < 0)
            return "capabilities";
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &head, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return "capabilities";
    return NULL;
}

const char *set_filter(const struct filter *filter)
{
    struct sock_fprog program = { (unsigned short)(filter->length / sizeof(struct sock_filter)), (struct sock_filter *)filter->bytes };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? "seccomp" : NULL;
}

static void limit(int status, int resource, uint64_t most)
{
    struct rlimit both = { most, most };
    if (setrlimit(resource, &both) < 0)
        fail(status, "limits");
}

static void set_limits(int status, const struct request *head)
{
    limit(status, RLIMIT_FSIZE, head->file_bytes);
    limit(status, RLIMIT_NOFILE, head->open_files);
    limit(status, RLIMIT_AS, head->address_bytes);
    limit(status, RLIMIT_CPU, head->cpu_seconds);
    limit(status, RLIMIT_MEMLOCK, 65536);
    limit(status, RLIMIT_MSGQUEUE, 819200);
    limit(status, RLIMIT_NICE, 0);
    limit(status, RLIMIT_RTPRIO, 0);
    /* One byte, not none: a core_pattern that begins with a pipe is run on the host for 0 and not for 1. */
    limit(status, RLIMIT_CORE, 1);
    limit(status, RLIMIT_NPROC, head->processes);
}

/* A terminal of this run's own /dev/pts; its far side is handed to the host. */
static int open_terminal(int status)
{
    int unlock = 0, number = -1;
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    char name[32];
    int far = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (far < 0 || ioctl(far, TIOCSPTLCK, &unlock) < 0 || ioctl(far, TIOCGPTN, &number) < 0)
        fail(status, "terminal");
    snprintf(name, sizeof name, "/dev/pts/%d", number);
    int near = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    /* Now and not when the host has it: the command may look at once. */
    if (near < 0 || ioctl(near, TIOCSWINSZ, &size) < 0)
        fail(status, "terminal");
    if (!pass_on(status, "P", &far, 1))
        fail(status, "terminal");
    close(far);
    return near;
}

/* The child of vfork: it shares our memory until the new program is loaded, so it changes nothing and never returns. */
static noreturn void become(int status, const struct command *command, int input, int output)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (command->head->flags & PTY && ioctl(input, TIOCSCTTY, 0) < 0)
        fail(status, "terminal");
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(1, 2) < 0)
        fail(status, "descriptors");
    if (chdir(command->directory) < 0)
        fail(status, "chdir");
    umask(022);
    set_limits(status, command->head);
    syscall(SYS_close_range, 3, ~0U, 4 /* when the new program is loaded */);
    execvpe(command->words[0], command->words, command->variables);
    int missing = errno == ENOENT;
    dprintf(2, "%s: %s\n", command->words[0], strerror(errno));
    _exit(missing ? 127 : 126);
}

static pid_t start(int status, const struct command *command, int input, int output)
{
    pid_t pid = vfork();
    if (pid == 0)
        become(status, command, input, output);
    if (pid < 0)
        fail(status, "fork");
    return pid;
}

/* How the command ended, and whether nothing else is left: whatever it left behind has become our child before we could see its end. */
static noreturn void report(int status, int how)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
        ;
    unsigned char is_signal = WIFSIGNALED(how), is_last = pid < 0 && errno == ECHILD;
    unsigned char said[4] = { 'X', is_signal, is_signal ? (unsigned char)WTERMSIG(how) : (unsigned char)WEXITSTATUS(how), is_last };
    (void)!send(status, said, sizeof said, MSG_NOSIGNAL);
    _exit(0);
}

static noreturn void watch(int status, int events, pid_t command)
{
    for (;;) {
        struct pollfd watched[2] = { { status, POLLIN, 0 }, { events, POLLIN, 0 } };
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            _exit(1);
        if (watched[0].revents) {
            char word;
            ssize_t got = recv(status, &word, 1, 0);
            if (got <= 0)
                _exit(0);
            if (word == 'T')
                kill(-1, SIGTERM);
        }
        struct signalfd_siginfo ignored;
        while (read(events, &ignored, sizeof ignored) > 0)
            ;
        int how;
        pid_t pid;
        while ((pid = waitpid(-1, &how, WNOHANG | __WALL)) > 0)
            if (pid == command)
                report(status, how);
    }
}

int child_events(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

noreturn void run(int control, int server, const struct filter *filter, const char *temporary_bytes)
{
    static struct command command;
    static union { char bytes[MOST_SAID]; struct request head; } request;
    int fds[MOST_FDS], count = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char *missing = server < 0 ? NULL : make_view(temporary_bytes);
    int view = server < 0 ? -1 : open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    missing = missing ? missing : drop_capabilities();
    missing = missing ? missing : set_filter(filter);
    int why = errno;
    prctl(PR_SET_DUMPABLE, 0);
    int events = child_events();
    size_t length = receive(control, request.bytes, sizeof request.bytes, fds, &count);
    if (!length || count < REQUEST_FDS)
        _exit(0);
    close(control);
    if (server >= 0) {
        if (!pass_on(server, "", &view, 1))
            _exit(1);
        close(server);
        close(view);
    }
    int status = fds[0], input = fds[1], output = fds[2];
    errno = why;
    if (missing)
        fail(status, missing);
    if (events < 0)
        fail(status, "signals");
    char *bytes = count > REQUEST_FDS ? map(status, fds[3], &length) : request.bytes;
    parse(status, bytes, length, &command);
    /* The host learns from this message which process we are. */
    if (send(status, "R", 1, MSG_NOSIGNAL) != 1)
        _exit(1);
    if (command.head->flags & PTY) {
        close(input);
        close(output);
        input = open_terminal(status);
        output = dup(input);
    }
    pid_t pid = start(status, &command, input, output);
    close(input);
    close(output);
    watch(status, events, pid);
}
