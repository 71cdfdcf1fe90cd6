/* What does a command cost? Runs it and prints the CPU time (user and system) of the median run,
 * and the largest peak of memory.
 *
 *   cost RUNS STDIN COMMAND [ARGUMENT...]
 *
 * In C, as what a child's peak begins with is the memory of the program that started it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double milliseconds(struct timeval time)
{
    return time.tv_sec * 1e3 + time.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
    int runs = argc > 3 ? atoi(argv[1]) : 0;
    double *times = calloc(runs > 0 ? runs : 1, sizeof *times);
    long peak = 0;
    if (runs < 1 || !times) {
        fprintf(stderr, "usage: cost RUNS STDIN COMMAND [ARGUMENT...]\n");
        return 2;
    }
    for (int run = -2; run < runs; run++) { /* two to warm up */
        struct rusage usage;
        int status;
        pid_t child = fork();
        if (child == 0) {
            int in = open(argv[2], O_RDONLY), out = open("/dev/null", O_WRONLY);
            if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
                _exit(126);
            execvp(argv[3], argv + 3);
            _exit(127);
        }
        if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
            perror("cost");
            return 1;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) >= 126) {
            fprintf(stderr, "%s: did not run\n", argv[3]);
            return 1;
        }
        if (run >= 0)
            times[run] = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
        if (run >= 0 && usage.ru_maxrss > peak)
            peak = usage.ru_maxrss;
    }
    qsort(times, runs, sizeof *times, by_size);
    printf("%.2f ms CPU (min %.2f, max %.2f), peak %.1f MiB\n", times[runs / 2], times[0],
           times[runs - 1], peak / 1024.0);
    return 0;
}
