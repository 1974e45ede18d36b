// Holds the Python board and its witness against implementations that know nothing of them.
//
//	interop check DIR LOG_VKEY WITNESS_VKEY
//
// checks a log that the board wrote. DIR holds public/ (the log), entry, receipt.tlog-proof,
// older (an older checkpoint), consistency (one base64 hash per line) and cosigned (a cosigned
// checkpoint). For the other commands see peers.go.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/transparency-dev/formats/log"
	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/formats/proof"
	mproof "github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var root string

func must(err error, step string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", step, err)
		os.Exit(1)
	}
	fmt.Println("ok:", step)
}

func file(name string) []byte {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return data
}

func openCheckpoint(data []byte, verifier note.Verifier) *log.Checkpoint {
	_, err := note.Open(data, note.VerifierList(verifier))
	must(err, "sumdb/note opens the checkpoint")
	checkpoint, _, _, err := log.ParseCheckpoint(data, verifier.Name(), verifier)
	must(err, "formats/log parses the checkpoint")
	return checkpoint
}

func hash(data []byte) (h tlog.Hash) {
	copy(h[:], data)
	return h
}

// tiles reads the log's tiles as sumdb's client does; it keeps nothing.
type tiles struct{}

func (tiles) Height() int { return 8 }

func (tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		// sumdb puts the height into the path; tlog-tiles leaves it out.
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(root, "public", path))
		if err != nil {
			return nil, err
		}
		found = append(found, data)
	}
	return found, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func checkProofs(now, older *log.Checkpoint) {
	entry := file("entry")
	var receipt proof.TLogProof
	must(receipt.Unmarshal(file("receipt.tlog-proof")), "formats/proof reads the receipt")
	var raw [][]byte
	var record tlog.RecordProof
	for _, h := range receipt.Hashes {
		raw = append(raw, append([]byte{}, h[:]...))
		record = append(record, tlog.Hash(h))
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(entry)
	must(mproof.VerifyInclusion(rfc6962.DefaultHasher, receipt.Index, now.Size, leaf, raw, now.Hash),
		"merkle verifies the inclusion proof")
	must(tlog.CheckRecord(record, int64(now.Size), hash(now.Hash), int64(receipt.Index),
		tlog.RecordHash(entry)), "sumdb/tlog verifies the inclusion proof")

	raw = nil
	var tree tlog.TreeProof
	for _, line := range strings.Fields(string(file("consistency"))) {
		data, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			must(err, "consistency proof is base64")
		}
		raw = append(raw, data)
		tree = append(tree, hash(data))
	}
	must(mproof.VerifyConsistency(rfc6962.DefaultHasher, older.Size, now.Size, raw, older.Hash, now.Hash),
		"merkle verifies the consistency proof")
	must(tlog.CheckTree(tree, int64(now.Size), hash(now.Hash), int64(older.Size), hash(older.Hash)),
		"sumdb/tlog verifies the consistency proof")

	reader := tlog.TileHashReader(tlog.Tree{N: int64(now.Size), Hash: hash(now.Hash)}, tiles{})
	own, err := tlog.ProveRecord(int64(now.Size), int64(receipt.Index), reader)
	must(err, "sumdb/tlog proves from our tiles")
	if len(own) != len(record) {
		must(fmt.Errorf("%d and %d hashes", len(own), len(record)), "proofs agree")
	}
	for i := range own {
		if own[i] != record[i] {
			must(fmt.Errorf("hash %d", i), "proofs agree")
		}
	}
	fmt.Println("ok: sumdb/tlog makes the same inclusion proof")
}

func bundleHasher(bundle []byte) ([][]byte, error) {
	var entries api.EntryBundle
	if err := entries.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	var leaves [][]byte
	for _, entry := range entries.Entries {
		leaves = append(leaves, rfc6962.DefaultHasher.HashLeaf(entry))
	}
	return leaves, nil
}

func check(directory, log, cosigner string) {
	root = directory
	verifier, err := note.NewVerifier(log)
	must(err, "sumdb/note reads the verifier key")
	witness, err := fnote.NewVerifierForCosignatureV1(cosigner)
	must(err, "formats/note reads the witness key")

	now := openCheckpoint(file("public/checkpoint"), verifier)
	older := openCheckpoint(file("older"), verifier)
	cosigned, err := note.Open(file("cosigned"), note.VerifierList(verifier, witness))
	must(err, "formats/note verifies the cosignature")
	if len(cosigned.Sigs) != 2 || !bytes.Contains(file("cosigned"), []byte(cosigned.Text)) {
		must(fmt.Errorf("%d signatures", len(cosigned.Sigs)), "two signatures")
	}
	checkProofs(now, older)

	fetcher := client.FileFetcher{Root: filepath.Join(root, "public")}
	whole := fsck.New(verifier.Name(), verifier, fetcher, bundleHasher, fsck.Opts{N: 2})
	must(whole.Check(context.Background()), "tessera's fsck accepts the log")
	fmt.Println("size:", now.Size)
}

func main() {
	switch arguments := os.Args[2:]; os.Args[1] {
	case "check":
		check(arguments[0], arguments[1], arguments[2])
	case "append":
		appendEntries(arguments[0], arguments[1], arguments[2], arguments[3:])
	case "read":
		read(arguments[0], arguments[1], arguments[2])
	case "agent":
		serveKey(arguments[0], arguments[1])
	}
}
