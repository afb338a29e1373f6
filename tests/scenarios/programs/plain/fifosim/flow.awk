# Flow through a grid, relaxed until its time is over; a finer grid for each fourth sample.
BEGIN {
    srand(7)
    for (sample = 1; sample <= 40; sample++) {
        rounds = (sample % 20 == 0) ? FINE : 60
        for (i = 0; i < 400; i++) p[i] = rand()
        for (r = 0; r < rounds; r++)
            for (i = 1; i < 399; i++) p[i] += 0.4 * (p[i - 1] - 2 * p[i] + p[i + 1])
        line = sample
        for (i = 0; i < 400; i += 25) line = line " " p[i]
        print line
        fflush()
    }
}
