/* Under a process that writes to a store: kills it in the middle of the write to the disk that it was told to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

static long passed, strike_at;

void strike(long at) {
    passed = 0;
    strike_at = at;
}

long writes_passed(void) { return passed; }

static int is_struck(void) { return ++passed == strike_at; }

static void die(void) { kill(getpid(), SIGKILL); }

/* Half of the bytes reach the file: the disk has no better manners. */
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    if (is_struck()) {
        real(fd, data, size / 2, at);
        die();
    }
    return real(fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    if (is_struck()) die();
    return real(fd);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    if (is_struck()) die();
    return real(fd);
}

int ftruncate64(int fd, off64_t size) {
    static int (*real)(int, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "ftruncate64");
    if (is_struck()) die();
    return real(fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
