// A function that is a program: it serves HTTP/1.1 on the listening socket that it is given as file descriptor 3.
// One thread a connection; a connection carries one request after another, until the other side closes it.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LISTEN_FD = 3, LONGEST_HEAD = 65536 };

// The value of a header, or nothing. Names are compared without regard to case.
static const char *header(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') return line + 3 + length;
    return NULL;
}

static int answer(int to, const char *status, const char *text, size_t shown) {
    char response[2048];
    int length = snprintf(response, sizeof response,
        "HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %zu\r\n\r\n%.*s",
        status, strlen(text), (int)shown, text);
    for (int sent = 0, now; sent < length; sent += now)
        if ((now = (int)write(to, response + sent, (size_t)(length - sent))) <= 0) return 0;
    return 1;
}

static void *serve(void *given) {
    int connection = (int)(long)given;
    char *buffer = malloc(LONGEST_HEAD + 1), method[16], target[1024], text[1200], skipped[4096], *end;
    size_t held = 0;
    while (buffer) {
        buffer[held] = 0;
        if (!(end = strstr(buffer, "\r\n\r\n"))) { // the head is not whole yet
            ssize_t got = held < LONGEST_HEAD ? read(connection, buffer + held, LONGEST_HEAD - held) : 0;
            if (got <= 0) break;
            held += (size_t)got;
            continue;
        }
        end[2] = 0;
        if (header(buffer, "transfer-encoding")) { // a body in chunks would need more lines than this example has
            answer(connection, "411 Length Required", "Send a content-length.\n", 23);
            break;
        }
        const char *length = header(buffer, "content-length");
        size_t body = length ? strtoul(length, NULL, 10) : 0, after = held - (size_t)(end + 4 - buffer);
        size_t here = after < body ? after : body;
        for (size_t rest = body - here; rest > 0;) {
            ssize_t got = read(connection, skipped, rest < sizeof skipped ? rest : sizeof skipped);
            if (got <= 0) goto gone;
            rest -= (size_t)got;
        }
        if (sscanf(buffer, "%15s %1023s", method, target) != 2) break;
        snprintf(text, sizeof text, "Hello from C: %s %s with %zu bytes\n", method, target, body);
        if (!answer(connection, "200 OK", text, strcmp(method, "HEAD") ? strlen(text) : 0)) break;
        held = after - here;
        memmove(buffer, end + 4 + here, held); // the next request, if it came along
    }
gone:
    free(buffer);
    close(connection);
    return NULL;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN); // a caller that left costs its connection, not the program
    for (int connection; (connection = accept(LISTEN_FD, NULL, NULL)) >= 0;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(long)connection) == 0) pthread_detach(thread);
        else close(connection);
    }
    perror("accept");
    return 1;
}
