/* The yardstick of benches/plan.sh: opens, reads and closes the files named on stdin, one a line,
 * and does nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char path[4096], bytes[4096];
    unsigned long total = 0;
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = 0;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n > 0)
            total += n;
        close(fd);
    }
    printf("%lu\n", total);
    return 0;
}
