#!/bin/bash
# The box itself: journal entries are found by their identifier and have their fields.
source "$(dirname "$0")/lib.sh"
logger --journald <<ENTRY
MESSAGE=a test
MESSAGE_ID=$message_filed
PHOTOINBOX_FILE=card/a b.jpg
ENTRY
eventually "an entry is found by its kind" -.slice journal_has 1 "MESSAGE_ID=$message_filed"
eventually "and by its field" -.slice journal_has 1 "MESSAGE_ID=$message_filed" "PHOTOINBOX_FILE=card/a b.jpg"
refuse "but not by another kind" -.slice journal_has 1 "MESSAGE_ID=$message_ready"
