// Run by SystemdTests in separate processes: with a private journald, under a fake service manager, with inherited
// descriptors. Writes its results to standard output as `name=value` lines.
import FileValues
import Glibc
import LinuxKernel
import Logging
import Systemd

let arguments = CommandLine.arguments.dropFirst()
let encoding = JournalEncoding(identifier: "systemd-probe", prefix: "PHOTOINBOX_")
switch arguments.first {
case "fields": logFields(JournalSink(encoding: encoding))
case "forge": logForgeries(JournalSink(encoding: encoding))
case "stall": stallJournal()
case "last-words": lastWords()
case "absent": logWithoutJournal()
case "destination": logToChosenDestination(arguments.dropFirst().first ?? "automatic")
case "notify": notifyManager()
case "activated": takeActivated()
default: fatalError("which probe?")
}
