"""Tests of what plugs into other frameworks: `make test-plugins` runs them where those are."""
