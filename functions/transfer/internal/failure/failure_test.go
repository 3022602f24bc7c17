package failure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"stampede/transfer/internal/s3test/agreed"
)

// TestTheWordsAreAgreedOnes reads the constants from the source, so that none can be left out here. Some of the agreed
// words are of experiments that Go has no part in.
func TestTheWordsAreAgreedOnes(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "failure.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var words, vocabulary []string
	ast.Inspect(source, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			for _, value := range spec.Values {
				word, _ := strconv.Unquote(value.(*ast.BasicLit).Value)
				words = append(words, word)
			}
		}
		return true
	})
	agreed.Read(t, "failures.json", &vocabulary)
	foreign := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(vocabulary, word) })
	if len(words) < 20 || len(foreign) > 0 {
		t.Errorf("%v of %v aren't agreed on: %v", foreign, words, vocabulary)
	}
}
