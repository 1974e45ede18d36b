#!/usr/bin/env bash
# Runs the steps of deploy/Dockerfile in a plain Debian, where there is no docker daemon, and shows
# that the board answers there. Needs root and mmdebstrap or debootstrap.
#
#   deploy/chroot.sh NEW_DIRECTORY [DEBIAN_MIRROR]
set -euo pipefail
source="$(cd "$(dirname "$0")/.." && pwd)"
root="${1:?name a directory that is not there yet}"
[ ! -e "$root" ] || { echo "$root exists already: name another directory" >&2; exit 2; }

packages=ca-certificates,python3,python3-dev,python3-venv
if command -v mmdebstrap >/dev/null; then
    mmdebstrap --variant=minbase --include="$packages" trixie "$root" ${2:+"$2"}
else
    debootstrap --variant=minbase --include="$packages" trixie "$root" ${2:+"$2"}
fi

# COPY and RUN of the first stage; without a Rust toolchain the reference backend is installed.
mkdir -p "$root/src" "$root/etc/gopa"
tar -C "$source" --exclude=.git --exclude='.venv*' --exclude='*.so' --exclude=native/target -cf - . | tar -C "$root/src" -xf -
# The network as it is here: its names, and the certificates that this machine believes.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
chroot "$root" python3 -m venv /opt/gopa
chroot "$root" /opt/gopa/bin/pip install --no-cache-dir --quiet --require-hashes \
    --requirement /src/requirements/user.txt
chroot "$root" /opt/gopa/bin/pip install --no-cache-dir --quiet --no-deps --no-build-isolation /src

# The second stage.
chroot "$root" useradd --system --uid 10000 --home-dir /srv --shell /usr/sbin/nologin gopa
chroot "$root" install --directory --owner gopa --group gopa --mode 0755 /srv/board
chroot "$root" install --directory --owner gopa --group gopa --mode 0700 /srv/witness /srv/session /srv/party
cp "$source"/deploy/{board,witness,session,party}.toml "$root/etc/gopa/"

as_gopa=(chroot --userspec=gopa:gopa "$root" env HOME=/srv PATH=/opt/gopa/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1)
"${as_gopa[@]}" gopa board init /srv/board --origin board.example/2026
"${as_gopa[@]}" gopa board serve /srv/board --config /etc/gopa/board.toml &
board=$!
trap 'kill "$board" 2>/dev/null || true' EXIT
for _ in $(seq 60); do
    if "${as_gopa[@]}" python3 -c "import urllib.request as u; print('healthz:', u.urlopen('http://127.0.0.1:8765/healthz').read().decode().strip())" 2>/dev/null; then
        "${as_gopa[@]}" gopa board fsck /srv/board
        exit 0
    fi
    sleep 1
done
echo "the board does not answer" >&2
exit 1
