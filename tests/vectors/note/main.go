// Opens a signed note with Go's sumdb/note: status 0 where the key signed it.
//
//	main VKEY FILE
package main

import (
	"os"

	"golang.org/x/mod/sumdb/note"
)

func main() {
	verifier, err := note.NewVerifier(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	msg, err := os.ReadFile(os.Args[2])
	if err != nil {
		os.Exit(2)
	}
	if _, err := note.Open(msg, note.VerifierList(verifier)); err != nil {
		os.Exit(1)
	}
}
