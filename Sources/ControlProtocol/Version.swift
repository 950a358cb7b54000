/// The version of the product; the same for daemon and command line.
package let productVersion = "0.1.0"
