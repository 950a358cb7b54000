import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import WebAccounts

/// `photoinbox web device …`: what is done with the passwords of people's devices.
enum DeviceTask {
    case list
    case add(String, of: String)
    case remove(String, of: String)

    func run(in directory: BytePath, address: String) throws {
        let editor = AccountEditor<Device>("photoinbox web device", in: directory)
        switch self {
        case .list: try list(editor)
        case .add(let name, let person):
            // Whoever starts `photoinbox web` is its one person, but none of photoinbox-web.socket, which has root's configuration.
            let isOwn = person == userName(geteuid()) && directory != StandardPlaces.systemFile.parent
            let password = DevicePassword()
            let isNew = try editor.change { devices in
                // Nobody is removed meanwhile without this device.
                let people = try AccountEditor<Person>("photoinbox web user", in: directory).read()
                guard people[person].map({ $0.role >= .sender }) ?? isOwn else {
                    throw CommandFailure(
                        .noMatch, "there is nobody named \(printable(person)) who may send photos",
                        action: "First: photoinbox web user add \(printable(person)) --role sender")
                }
                let before = devices[Device.key(of: name, person)]
                devices.put(
                    Device(person: person, name: name, birth: before?.birth ?? Device.now, password: password.hash))
                return before == nil
            }
            try printOut(
                "\(isNew ? "added" : "changed") \(name) of \(person). By WebDAV, photos are sent to\n\(address)dav/\n"
                    + "with the user name \(person) and the password\n\(password.text)\n"
                    + "Whoever has it can send photos, and sees the names of what was sent by it, nothing else.\n")
        case .remove(let name, let person):
            guard try editor.change({ $0.remove(Device.key(of: name, person)) }) else {
                throw CommandFailure(.noMatch, "there is no device \(printable(name)) of \(printable(person))")
            }
            try printOut("removed \(name) of \(person)\n")
        }
    }

    private func list(_ editor: AccountEditor<Device>) throws {
        let devices = try editor.read().all
        if devices.isEmpty {
            throw CommandFailure(
                .noMatch, "there are no devices", action: "Add one: photoinbox web device add PERSON DEVICE")
        }
        var table = TextTable([("PERSON", .left), ("DEVICE", .left)])
        for device in devices { table.add([device.person, device.name]) }
        try printOut(table.rendered(Terminal.style(.never)))
    }
}
