// Reads a tiled log over HTTP with Go's own sumdb/tlog: the checkpoint's
// signature, then the tree through TileHashReader, which authenticates every
// tile against the signed root; then the leaf and the proof of each record in
// FILE (one a line).
//
//	main URL VKEY FILE
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
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

func get(url string) ([]byte, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, err
}

type reader struct {
	prefix string
	read   int
}

func (r *reader) Height() int { return 8 }

func (r *reader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, t := range tiles {
		// sumdb names the height in the path, tlog-tiles fixes it
		body, err := get(r.prefix + "/tile/" + strings.TrimPrefix(t.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		r.read++
		out = append(out, body)
	}
	return out, nil
}

func (r *reader) SaveTiles([]tlog.Tile, [][]byte) {}

func main() {
	prefix := os.Args[1]
	verifier, err := note.NewVerifier(os.Args[2])
	must(err, "vkey")
	msg, err := get(prefix + "/checkpoint")
	must(err, "checkpoint")
	n, err := note.Open(msg, note.VerifierList(verifier))
	must(err, "note.Open")
	lines := strings.Split(n.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err, "size")
	root, err := tlog.ParseHash(lines[2])
	must(err, "root")
	tree := tlog.Tree{N: size, Hash: root}
	tiles := &reader{prefix: prefix}
	hashes := tlog.TileHashReader(tree, tiles)
	again, err := tlog.TreeHash(size, hashes)
	must(err, "TreeHash over tiles")
	if again != root {
		must(fmt.Errorf("%v, signed %v", again, root), "root")
	}
	records, err := os.ReadFile(os.Args[3])
	must(err, "records")
	records = bytes.TrimRight(records, "\n\x00")
	step := size/40 + 1
	for i, line := range bytes.Split(records, []byte("\n")) {
		at := int64(i)
		if at >= size {
			break
		}
		if at%step != 0 && at != size-1 {
			continue
		}
		leaf, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, at)})
		must(err, "leaf from its tile")
		if leaf[0] != tlog.RecordHash(line) {
			must(fmt.Errorf("record %d", at), "leaf")
		}
		proof, err := tlog.ProveRecord(size, at, hashes)
		must(err, "ProveRecord")
		must(tlog.CheckRecord(proof, size, root, at, leaf[0]), "CheckRecord")
	}
	fmt.Printf("ok %d records, %d tiles\n", size, tiles.read)
}
