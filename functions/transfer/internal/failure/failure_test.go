package failure

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"stampede/transfer/internal/s3test/agreed"
)

var constant = regexp.MustCompile(`(?m)^\t\w+ += "(\w+)"$`)

// The constants are read from the source, so that none is forgotten. Some of the agreed words
// belong to experiments without Go.
func TestTheWordsAreAgreedOnes(t *testing.T) {
	var vocabulary []string
	agreed.Read(t, "failures.json", &vocabulary)
	source, _ := os.ReadFile("failure.go")
	words := constant.FindAllSubmatch(source, -1)
	for _, word := range words {
		if !slices.Contains(vocabulary, string(word[1])) {
			t.Error(string(word[1]))
		}
	}
	if len(words) < 30 {
		t.Error(len(words))
	}
}
