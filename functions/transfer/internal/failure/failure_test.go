package failure

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"testing"
)

// TestTheWordsAreTheAgreedOnes reads the constants from the source, so that none can be left out here.
func TestTheWordsAreTheAgreedOnes(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "failure.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var words, agreed []string
	ast.Inspect(source, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			for _, value := range spec.Values {
				word, _ := strconv.Unquote(value.(*ast.BasicLit).Value)
				words = append(words, word)
			}
		}
		return true
	})
	text, err := os.ReadFile("../../../agreed/failures.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &agreed); err != nil {
		t.Fatal(err)
	}
	slices.Sort(words)
	slices.Sort(agreed)
	if len(words) == 0 || !slices.Equal(words, agreed) {
		t.Errorf("%v, not %v", words, agreed)
	}
}
