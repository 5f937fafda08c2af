// queue-go measures kube-scheduler's scheduling queue at the works Roadstead's queue is measured
// at, and prints one JSON line a measurement.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "queue-go: %v\n", err)
		os.Exit(1)
	}
}

// measurement is one line of output. NS holds bytes for the work "bytes".
type measurement struct {
	Work  string  `json:"work"`
	Depth int     `json:"depth"`
	NS    float64 `json:"ns"`
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("queue-go", flag.ExitOnError)
	worksFlag := flags.String("works", strings.Join(workNames(), ","), "works to measure, separated by commas")
	depthsFlag := flags.String("depths", "1000,10000,100000", "numbers of pods to measure them at, separated by commas")
	seconds := flags.Float64("seconds", 1, "time to spend on repetitions of one measurement, its setup included; one is made in any case")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	chosen, err := parseWorks(*worksFlag)
	if err != nil {
		return err
	}
	depths, err := parseDepths(*depthsFlag)
	if err != nil {
		return err
	}

	// kube-scheduler's own logger at verbosity 0: every log call stops at its level check.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)

	lines := json.NewEncoder(out)
	budget := time.Duration(*seconds * float64(time.Second))
	for _, depth := range depths {
		// Pods live only as long as their depth, or the collector would mark the
		// larger ones' while the smaller ones are measured.
		pods := newPods(0, depth)
		for _, w := range chosen {
			ns, err := w.measure(pods, budget)
			if err != nil {
				return fmt.Errorf("%s at depth %d: %w", w.name, depth, err)
			}
			if err := lines.Encode(measurement{w.name, depth, math.Round(ns*10) / 10}); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseWorks(list string) ([]work, error) {
	var chosen []work
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(works, func(w work) bool { return w.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no work is called %q, expected some of %s", name, strings.Join(workNames(), ","))
		}
		chosen = append(chosen, works[i])
	}
	return chosen, nil
}

func parseDepths(list string) ([]int, error) {
	var depths []int
	for text := range strings.SplitSeq(list, ",") {
		depth, err := strconv.Atoi(text)
		if err != nil || depth < 1 {
			return nil, fmt.Errorf("depth %q is not a positive number", text)
		}
		depths = append(depths, depth)
	}
	return depths, nil
}
