#!/bin/bash
# SIGUSR1 writes the state dump, readable by the service's group only; its text follows for the test outside.
source "$(dirname "$0")/lib.sh"
install_service
start_service
refuse "no dump before the signal" photoinboxd test -e /run/photoinbox/state.json
systemctl kill --signal=USR1 --kill-whom=main photoinboxd
eventually "the dump is written" photoinboxd test -s /run/photoinbox/state.json
refuse "strangers cannot read it" photoinboxd \
    setpriv --reuid=65534 --regid=65534 --clear-groups cat /run/photoinbox/state.json
check "its group can" photoinboxd \
    setpriv --reuid=65534 --regid=_photoinbox --clear-groups cat /run/photoinbox/state.json
printf 'state: %s\n' "$(tr -d '\n' </run/photoinbox/state.json)"
