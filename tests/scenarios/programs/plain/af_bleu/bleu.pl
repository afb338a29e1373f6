#!/usr/bin/env perl
# BLEU with a confidence interval by bootstrap: bleu.pl [--verbose] [--samples N] REF HYP
use strict;
use warnings;
use List::Util qw(min);

my ($verbose, $samples) = (0, 1000);
while (@ARGV && $ARGV[0] =~ /^--/) {
    my $option = shift;
    if ($option eq '--verbose') { $verbose = 1 }
    elsif ($option eq '--samples') { $samples = shift }
}
my ($ref_name, $hyp_name) = @ARGV;
open(my $ref, '<', $ref_name) or die "$ref_name: $!";
open(my $hyp, '<', $hyp_name) or die "$hyp_name: $!";

my @counts;
while (my $r = <$ref>) {
    my $h = <$hyp>;
    my @r = split ' ', $r;
    my @h = split ' ', $h;
    my @row = (scalar @r, scalar @h);
    for my $n (1 .. 4) {
        my (%seen, $match);
        $match = 0;
        $seen{join ' ', @r[$_ .. $_ + $n - 1]}++ for 0 .. @r - $n;
        for (0 .. @h - $n) {
            my $gram = join ' ', @h[$_ .. $_ + $n - 1];
            if ($seen{$gram}) { $seen{$gram}--; $match++ }
        }
        push @row, $match, @h >= $n ? @h - $n + 1 : 0;
    }
    push @counts, \@row;
    print "sentence ", scalar @counts, " ref $row[0] hyp $row[1] matches ", join('/', @row[2, 4, 6, 8]), "\n" if $verbose;
}

sub score {
    my @sum = (0) x 10;
    for my $row (@_) { $sum[$_] += $row->[$_] for 0 .. 9 }
    my $log = 0;
    for my $n (0 .. 3) {
        return 0 unless $sum[2 + 2 * $n];
        $log += log($sum[2 + 2 * $n] / $sum[3 + 2 * $n]) / 4;
    }
    return 100 * exp($log + min(0, 1 - $sum[0] / $sum[1]));
}

srand(1);
my @scores = sort { $a <=> $b } map { score(map { $counts[rand @counts] } 1 .. @counts) } 1 .. $samples;
printf "BLEU %.2f [%.2f, %.2f]\n", score(@counts), $scores[0.025 * @scores], $scores[0.975 * @scores];
