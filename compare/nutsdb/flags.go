package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// maxTransaction records of the largest dataset stay below NutsDB's bound of a transaction's bytes.
const maxTransaction = 10_000

type flags struct {
	dataset, workload, hint, merge, format, dir string
	scatter                                     bool
	reps, transaction                           int
}

// parseFlags ends the program with 2 if a value is not known, and with 0 after --help.
func parseFlags() flags {
	datasetNames, workloadNames := []string{}, []string{}
	for _, d := range datasets {
		datasetNames = append(datasetNames, d.name)
	}
	for _, w := range workloads {
		workloadNames = append(workloadNames, w.name)
	}
	choices := []struct {
		name, fallback, usage string
		valid                 []string
		value                 string
	}{
		{name: "dataset", fallback: datasets[0].name, valid: append(datasetNames, "all"), usage: "keys and their values"},
		{name: "workload", fallback: "all", valid: append(workloadNames, "all"), usage: "what goes on during the merge"},
		{name: "hint", fallback: "on", valid: []string{"on", "off"}, usage: "hint files"},
		{name: "merge", fallback: "new", valid: []string{"new", "old"}, usage: "NutsDB's EnableMergeV2, on or off"},
		{name: "format", fallback: "markdown", valid: []string{"markdown", "json"}, usage: "of the tables on stdout"},
	}
	var f flags
	for i := range choices {
		c := &choices[i]
		flag.StringVar(&c.value, c.name, c.fallback, c.usage+": "+strings.Join(c.valid, ", "))
	}
	flag.BoolVar(&f.scatter, "scatter", false, "overwrites and deletes at random over the keys, not on the first ones")
	flag.IntVar(&f.reps, "reps", 3, "repetitions; the tables have their medians, maxima and worst losses")
	flag.IntVar(&f.transaction, "transaction", 1,
		"records in a transaction of the data's load, up to 10000;\nof more than one the newer merge drops all but the last")
	flag.StringVar(&f.dir, "dir", ".", "directory below which a new one is made and removed: which disk is measured")
	flag.Parse()
	for _, c := range choices {
		if !slices.Contains(c.valid, c.value) {
			reject("--%s %s is not known; valid: %s", c.name, c.value, strings.Join(c.valid, ", "))
		}
	}
	if f.reps < 1 || f.transaction < 1 || f.transaction > maxTransaction || flag.NArg() > 0 {
		reject("valid: --reps from 1, --transaction from 1 to %d, no further arguments; see --help", maxTransaction)
	}
	f.dataset, f.workload, f.hint = choices[0].value, choices[1].value, choices[2].value
	f.merge, f.format = choices[3].value, choices[4].value
	return f
}

func reject(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(2)
}
