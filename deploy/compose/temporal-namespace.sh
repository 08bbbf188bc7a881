#!/bin/sh
# Make the namespace `default`, which keeps finished runs for a week. Fails, to be tried again, while the server starts.
set -eu
if temporal operator namespace describe --namespace default >/dev/null 2>&1; then
    temporal operator namespace update --namespace default --retention 168h
else
    temporal operator namespace create --namespace default --retention 168h
fi
