#define _GNU_SOURCE
/* A plugin with a table and with C code that a test inserts: IN_CONSTRUCTOR runs while the library is loaded, IN_OPEN in `open` and
 * IN_EMIT in `emit`. FILE_OF(path, text) writes a file of the artifact. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "strait_plugin.h"

#ifndef IN_CONSTRUCTOR
#define IN_CONSTRUCTOR
#endif
#ifndef IN_OPEN
#define IN_OPEN
#endif
#ifndef IN_EMIT
#define IN_EMIT
#endif

static const char table[] = {
#include "table.inc"
};

/* Volatile, so that the compiler does not optimize the fault away. */
static volatile int forever = 1;
static char *volatile kept;

#define LOOP for (; forever;)
#define FILE_OF(path, text) (void)model->write(model->sink, path, sizeof path - 1, (const uint8_t *)text, sizeof text - 1)

/* Starts a daemon: a process in a session of its own that ignores SIGTERM and sleeps. */
static void daemonise(void) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            sleep(600);
        }
        _exit(0);
    }
}

/* The process id of the host. The host is the parent of the supervisor, which is the parent of this process. */
static pid_t host(void) {
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%*d %*s %*c %d", &parent) != 1) {
            parent = 0;
        }
        fclose(file);
    }
    return parent;
}

__attribute__((constructor)) static void loaded(void) {
    IN_CONSTRUCTOR;
    (void)host;
    (void)daemonise;
}

static strait_status opened(const strait_host *host_of_call, const strait_open *options, void **target) {
    (void)host_of_call;
    (void)options;
    (void)target;
    IN_OPEN;
    return STRAIT_OK;
}

static strait_status emit(const strait_host *host_of_call, void *target, const strait_emit *model) {
    (void)host_of_call;
    (void)target;
    (void)model;
    IN_EMIT;
    return STRAIT_OK;
}

static const strait_plugin plugin = {
    sizeof(strait_plugin), STRAIT_INTERFACE_MAJOR, STRAIT_INTERFACE_MINOR, STRAIT_TABLE_SCHEMA, STRAIT_IR_MAJOR, STRAIT_IR_MINOR,
    "hostile 1.0.0", 13, table, sizeof table, opened, NULL, NULL, emit, NULL,
};

const strait_plugin *strait_plugin_entry(uint32_t major, uint32_t minor) {
    (void)major;
    (void)minor;
    return &plugin;
}
