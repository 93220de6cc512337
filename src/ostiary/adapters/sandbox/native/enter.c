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
    for (; *words && strcmp(*words, "--") != 0 && words[1]; words += 2)
        give_name(place, words[0], words[1]);
    if (!*words || !words[1])
        stop("program");
    if (setgroups(0, NULL) < 0 || setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) < 0 || setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0)
        stop("user");
    execv(words[1], words + 1);
    stop(words[1]);
}
