// Checks a ledger's directory with Go's own transparency-log packages: the
// checkpoints' signatures, the root over the records, every proof in DIR/proofs.
// Prints one line a check that passed; any failure ends with status 1.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run main.go DIR
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

// open verifies one checkpoint and returns its tree.
func open(msg []byte, verifier note.Verifier) tlog.Tree {
	n, err := note.Open(msg, note.VerifierList(verifier))
	must(err, "note.Open")
	lines := strings.Split(n.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		must(fmt.Errorf("%q", n.Text), "checkpoint text")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err, "size")
	hash, err := tlog.ParseHash(lines[2])
	must(err, "root")
	return tlog.Tree{N: size, Hash: hash}
}

func main() {
	dir := os.Args[1]
	vkey, err := os.ReadFile(filepath.Join(dir, "log.vkey"))
	must(err, "log.vkey")
	verifier, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	must(err, "vkey")
	msg, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	must(err, "checkpoint")
	tree := open(msg, verifier)
	fmt.Println("ok signature of the checkpoint")

	records, err := os.ReadFile(filepath.Join(dir, "records-00000000000000000000.jsonl"))
	must(err, "records")
	var hashes []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, hashes[i])
		}
		return out, nil
	})
	var leaves []tlog.Hash
	for _, line := range bytes.Split(bytes.TrimRight(records, "\n"), []byte("\n")) {
		more, err := tlog.StoredHashes(int64(len(leaves)), line, reader)
		must(err, "StoredHashes")
		hashes = append(hashes, more...)
		leaves = append(leaves, tlog.RecordHash(line))
	}
	if int64(len(leaves)) != tree.N {
		must(fmt.Errorf("%d records, size %d", len(leaves), tree.N), "size")
	}
	root, err := tlog.TreeHash(tree.N, reader)
	must(err, "TreeHash")
	if root != tree.Hash {
		must(fmt.Errorf("%v, signed %v", root, tree.Hash), "root")
	}
	fmt.Println("ok root over the records")

	all, err := os.ReadFile(filepath.Join(dir, "checkpoints"))
	must(err, "checkpoints")
	count := 0
	for _, part := range strings.Split(string(all), "\n\n"+verifier.Name()) {
		if count > 0 {
			part = verifier.Name() + part
		}
		t := open([]byte(strings.TrimRight(part, "\n")+"\n"), verifier)
		h := tlog.Hash(sha256.Sum256(nil)) // RFC 6962's empty tree, which older tlog leaves out
		if t.N > 0 {
			h, err = tlog.TreeHash(t.N, reader)
			must(err, "TreeHash")
		}
		if h != t.Hash {
			must(fmt.Errorf("size %d", t.N), "earlier root")
		}
		count++
	}
	if count < 2 {
		must(fmt.Errorf("%d", count), "checkpoints")
	}
	fmt.Println("ok every earlier checkpoint")
	proofs(dir, tree, leaves, reader)
}

func proofs(dir string, tree tlog.Tree, leaves []tlog.Hash, reader tlog.HashReader) {
	text, err := os.ReadFile(filepath.Join(dir, "proofs"))
	must(err, "proofs")
	inclusion, consistency := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		a, _ := strconv.ParseInt(f[1], 10, 64)
		var p []tlog.Hash
		for _, s := range f[3:] {
			h, err := tlog.ParseHash(s)
			must(err, "hash")
			p = append(p, h)
		}
		if f[0] == "inclusion" {
			must(tlog.CheckRecord(tlog.RecordProof(p), tree.N, tree.Hash, a, leaves[a]), line)
			inclusion++
			continue
		}
		old, err := tlog.TreeHash(a, reader)
		must(err, "TreeHash")
		must(tlog.CheckTree(tlog.TreeProof(p), tree.N, tree.Hash, a, old), line)
		consistency++
	}
	if inclusion == 0 || consistency == 0 {
		must(fmt.Errorf("none"), "proofs")
	}
	fmt.Printf("ok %d inclusion and %d consistency proofs\n", inclusion, consistency)
}
