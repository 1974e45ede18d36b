package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"filippo.io/torchwood"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// appendEntries lets Tessera put entries into a log of its own, which witnesses of the policy
// have to cosign before it is published.
//
//	interop append DIR KEY_FILE POLICY_FILE ENTRY...
func appendEntries(directory, keyFile, policyFile string, entries []string) {
	ctx := context.Background()
	key, err := os.ReadFile(keyFile)
	must(err, "the key file is there")
	signer, err := note.NewSigner(strings.TrimSpace(string(key)))
	must(err, "sumdb/note reads the key of a log")
	policy, err := os.ReadFile(policyFile)
	must(err, "the policy file is there")
	witnesses, err := tessera.NewWitnessGroupFromPolicy(policy)
	must(err, "tessera reads the policy")
	driver, err := posix.New(ctx, posix.Config{Path: directory})
	must(err, "tessera has a place for the log")
	options := tessera.NewAppendOptions().
		WithCheckpointSigner(signer).
		WithCheckpointInterval(time.Second).
		WithBatching(256, 50*time.Millisecond).
		WithShutdownTimeout(30*time.Second).
		WithWitnesses(witnesses, nil)
	appender, shutdown, _, err := tessera.NewAppender(ctx, driver, options)
	must(err, "tessera opens the log")
	var futures []tessera.IndexFuture
	for _, entry := range entries {
		futures = append(futures, appender.Add(ctx, tessera.NewEntry([]byte(entry))))
	}
	for _, future := range futures {
		if _, err := future(); err != nil {
			must(err, "tessera takes the entry")
		}
	}
	must(shutdown(ctx), "tessera publishes a checkpoint that the witnesses have cosigned")
}

// read lets torchwood's client, and Tessera's fsck, read a log over HTTP whose checkpoint a
// witness has cosigned. It prints the size and a hash of all entries, each with its length.
//
//	interop read URL LOG_VKEY WITNESS_VKEY
func read(address, log, cosigner string) {
	ctx := context.Background()
	verifier, err := note.NewVerifier(log)
	must(err, "sumdb/note reads the verifier key")
	witness, err := torchwood.NewCosignatureVerifier(cosigner)
	must(err, "torchwood reads the witness key")
	policy := torchwood.ThresholdPolicy(3, torchwood.OriginPolicy(verifier.Name()),
		torchwood.SingleVerifierPolicy(verifier), torchwood.SingleVerifierPolicy(witness))
	fetcher, err := torchwood.NewTileFetcher(address)
	must(err, "torchwood has an address")
	signed, err := fetcher.ReadEndpoint(ctx, "checkpoint")
	must(err, "torchwood fetches the checkpoint")
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, policy)
	must(err, "torchwood verifies log and witness")
	reader, err := torchwood.NewClient(fetcher)
	must(err, "torchwood has a client")
	digest, count := sha256.New(), int64(0)
	for _, entry := range reader.AllEntries(ctx, checkpoint.Tree, 0) {
		fmt.Fprintf(digest, "%d:", len(entry))
		digest.Write(entry)
		count++
	}
	must(reader.Err(), "torchwood reads all entries")
	entry, proof, err := reader.Entry(ctx, checkpoint.Tree, count/2)
	must(err, "torchwood finds one entry")
	must(tlog.CheckRecord(proof, checkpoint.N, checkpoint.Hash, count/2, tlog.RecordHash(entry)),
		"sumdb/tlog verifies its proof")
	base, err := url.Parse(address + "/")
	must(err, "the address is one")
	files, err := client.NewHTTPFetcher(base, nil)
	must(err, "tessera has a client")
	whole := fsck.New(verifier.Name(), verifier, files, bundleHasher, fsck.Opts{N: 2})
	must(whole.Check(ctx), "tessera's fsck accepts the log over HTTP")
	fmt.Println("size:", count)
	fmt.Println("entries:", hex.EncodeToString(digest.Sum(nil)))
}

// serveKey is an SSH agent with one key, which is where litewitness looks for its own.
//
//	interop agent SOCKET SEED
func serveKey(socket, seed string) {
	raw, err := hex.DecodeString(seed)
	must(err, "the seed is hexadecimal")
	keyring := agent.NewKeyring()
	key := ed25519.NewKeyFromSeed(raw)
	must(keyring.Add(agent.AddedKey{PrivateKey: &key}), "the agent takes the key")
	listener, err := net.Listen("unix", socket)
	must(err, "the agent listens")
	for {
		connection, err := listener.Accept()
		must(err, "somebody asks the agent")
		go agent.ServeAgent(keyring, connection)
	}
}
