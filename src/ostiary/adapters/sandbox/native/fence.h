/* What the parts of the fence share. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

/* The head of a request. The strings follow: directory, the words of the command, its environment. */
struct request {
    uint32_t magic, flags, words, variables;
    uint64_t processes, file_bytes, open_files, address_bytes, cpu_seconds;
};
enum { MAGIC = 0x4f535433, PTY = 1 };

/* What comes with a request: the status socket, standard input, standard output, and a file if it is too long for the message. */
enum { REQUEST_FDS = 3, MOST_FDS = 4, MOST_SAID = 16384 };

struct filter {
    unsigned char bytes[65536];
    unsigned length;
};

/* The inside of one run, as the first process of its pid namespace: a request is awaited on `control`, the command runs, and all of it
 * ends together. With a `server` its own part of the view is put in place first, and the server is given the view to keep; without
 * one (-1) the sandbox is for this run alone and its view is there. */
noreturn void run(int control, int server, const struct filter *filter, const char *temporary_bytes);

/* A descriptor that can be read when a child has ended, or -1. Such signals are blocked from then on. */
int child_events(void);

/* Become another user and then another program; the words after "enter". */
noreturn void enter(char **words);

/* A message of at most `size` bytes and its descriptors, of which there is room for MOST_FDS. Its length, or 0 if there is none. */
size_t receive(int from, void *bytes, size_t size, int *fds, int *count);

/* One byte and descriptors. Whether it could be done. */
int pass_on(int to, const char *word, const int *fds, int count);

/* Both return what could not be done, or NULL. */
const char *drop_capabilities(void);
const char *set_filter(const struct filter *filter);

/* Listen on 127.0.0.1:3128, or -1; then carry the bytes of each connection to and from the unix socket until killed. */
int listen_for_proxy(void);
noreturn void carry(int listener, const char *proxy);
