/* For a gateway that is root: become somebody else and then another program, in one step.
 *
 * Root's own directories are closed to that user. Those it is to mount are first given other names, below another place, in a mount
 * namespace that only this process and what it becomes can see. */
#define _GNU_SOURCE
#include "fence.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static noreturn void stop(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    _exit(126);
}

static void give_name(const char *place, const char *name, const char *path)
{
    char whole[256];
    struct stat facts;
    if (snprintf(whole, sizeof whole, "%s/%s", place, name) >= (int)sizeof whole || stat(path, &facts) < 0)
        stop(path);
    /* One that lies within another is there already. */
    if (S_ISDIR(facts.st_mode) ? mkdir(whole, 0755) < 0 && errno != EEXIST : close(open(whole, O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) < 0)
        stop(whole);
    if (mount(path, whole, NULL, MS_BIND | MS_REC, NULL) < 0)
        stop(path);
}

/* The devices every program expects, below PLACE/dev. bubblewrap would make the same, and read the list of all mounts for each. */
static void make_devices(const char *place)
{
    static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" };
    static const char *const links[][2] = { { "/proc/self/fd", "fd" }, { "/proc/self/fd/0", "stdin" }, { "/proc/self/fd/1", "stdout" },
                                            { "/proc/self/fd/2", "stderr" }, { "pts/ptmx", "ptmx" } };
    if (chdir(place) < 0 || mkdir("dev", 0755) < 0 || mkdir("dev/shm", 0755) < 0 || mkdir("dev/pts", 0755) < 0 || chdir("dev") < 0)
        stop("devices");
    for (size_t each = 0; each < sizeof devices / sizeof *devices; each++)
        give_name(".", devices[each] + sizeof "/dev", devices[each]);
    for (size_t each = 0; each < sizeof links / sizeof *links; each++)
        if (symlink(links[each][0], links[each][1]) < 0)
            stop("devices");
    if (mount("devpts", "pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620") < 0 || chdir("/") < 0)
        stop("devices");
}

/* enter UID PLACE [NAME PATH]... -- PROGRAM WORD... */
noreturn void enter(char **words)
{
    char *end = NULL;
    unsigned long uid = words[0] ? strtoul(words[0], &end, 10) : 0;
    /* Zero would be root, and so would anything that is no number. */
    errno = EINVAL;
    if (!end || *end || uid < 1 || uid > 0x7fffffff || !words[1])
        stop("user");
    const char *place = words[1];
    words += 2;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        stop("mount namespace");
    if (mount("ostiary", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
        stop(place);
    /* bubblewrap reads the list of all mounts once for each that it makes, and half of them are below here. */
    (void)umount2("/sys", MNT_DETACH);
    make_devices(place);
    for (; *words && strcmp(*words, "--") != 0 && words[1]; words += 2)
        give_name(place, words[0], words[1]);
    if (!*words || !words[1])
        stop("program");
    if (setgroups(0, NULL) < 0 || setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) < 0 || setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0)
        stop("user");
    execv(words[1], words + 1);
    stop(words[1]);
}
