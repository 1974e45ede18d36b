#!/usr/bin/env bash
# A board with two witnesses, all of them with TLS, each in a directory of its own on this machine: to try it, and
# as the order of steps on three machines (docs/board/two-witnesses.md). It goes on until it is stopped.
#
#   deploy/two-witnesses.sh NEW_DIRECTORY [PORT]     the witnesses take the two ports above PORT (8765)
set -euo pipefail
place="${1:?name a directory that is not there yet}"
port="${2:-8765}"
[ ! -e "$place" ] || { echo "$place exists already: name another directory" >&2; exit 2; }
umask 077
mkdir -p "$place/tls" "$place/log"
cd "$place"
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' TERM INT

answers() {  # waits until a server listens, or has ended
    until (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; do
        kill -0 "$1" 2>/dev/null || { cat "log/$3" >&2; exit 1; }
        sleep 0.2
    done
}

echo "1. An authority, and a certificate for each machine. (With a public authority: its certificates, and no SSL_CERT_FILE.)"
curve=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 "${curve[@]}" -days 3650 -subj "/CN=authority of a trial" -keyout tls/ca.key -out tls/ca.pem \
    -addext keyUsage=critical,keyCertSign 2>log/openssl
for name in board witness-1 witness-2; do
    openssl req "${curve[@]}" -subj "/CN=$name" -keyout "tls/$name.key" -out "tls/$name.csr" 2>>log/openssl
    openssl x509 -req -in "tls/$name.csr" -CA tls/ca.pem -CAkey tls/ca.key -CAcreateserial -days 365 -out "tls/$name.pem" \
        -extfile <(printf 'subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\n') 2>>log/openssl
done
export SSL_CERT_FILE="$PWD/tls/ca.pem"

echo "2. The log and its key: board/log.vkey is public, and all others need it."
gopa board init board --origin board.example/trial

echo "3. The witnesses: each makes its key, witness.vkey is public, and the board needs it."
for n in 1 2; do
    gopa board witness "witness-$n" --name "witness-$n.example/trial" --log board/log.vkey --port "$((port + n))" \
        --tls-cert "tls/witness-$n.pem" --tls-key "tls/witness-$n.key" 2>"log/witness-$n" &
    answers "$!" "$((port + n))" "witness-$n"
done

echo "4. The policy: whose word counts. The board, the organiser and with its ticket all parties have it."
{
    echo "log $(cat board/log.vkey)"
    for n in 1 2; do echo "witness w$n $(cat "witness-$n/witness.vkey") https://localhost:$((port + n))"; done
    echo "group both all w1 w2"
    echo "quorum both"
} >policy.txt

echo "5. The organiser makes a key, and the board is told that it may begin sessions."
gopa keygen organiser/key
cp organiser/key.pub organisers.txt

echo "6. The board."
gopa board serve board --sessions --organisers organisers.txt --policy policy.txt --port "$port" \
    --tls-cert tls/board.pem --tls-key tls/board.key 2>log/board &
answers "$!" "$port" board

echo "It runs at https://localhost:$port; logs are in $PWD/log. What comes next: docs/board/two-witnesses.md"
wait
