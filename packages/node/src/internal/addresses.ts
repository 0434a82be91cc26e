/**
 * Which internet addresses are public: what anybody may be sent to, as against this machine and the networks it is in.
 */
import * as Net from "node:net"

/** **Source**: the IANA special-purpose address registries for IPv4 (RFC 6890 and updates). */
const specialV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
]

/**
 * What is global in IPv6 is in 2000::/3; all else is this machine, this network, or a way to write an IPv4 address
 * (`::ffff:127.0.0.1`). **Source**: the IANA registries for IPv6 (RFC 4291, RFC 6890 and updates).
 */
const globalV6 = ["2000::/3"]

/** Within it: protocol assignments and Teredo, documentation, and 6to4, which holds an IPv4 address. */
const specialV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]

/**
 * Reads addresses and networks (`127.0.0.1`, `10.0.0.0/8`, `fd00::/8`) as one list.
 *
 * **Errors**: throws a RangeError for what is none.
 */
export const blockList = (networks: ReadonlyArray<string>): Net.BlockList => {
  const list = new Net.BlockList()
  for (const network of networks) {
    const [address = "", prefix] = network.split("/")
    const family = familyOf(address)
    const bits = prefix === undefined ? (family === "ipv4" ? 32 : 128) : Number(prefix)
    if (family === undefined || !/^\d*$/.test(prefix ?? "") || prefix === "") {
      throw new RangeError(`neither an address nor a network: ${network}`)
    }
    list.addSubnet(address, bits, family)
  }
  return list
}

export const contains = (list: Net.BlockList, address: string): boolean => {
  const family = familyOf(address)
  return family !== undefined && list.check(address, family)
}

/** Whether `address` is a public one; what is no address is not. */
export const isPublic = (address: string): boolean => {
  switch (familyOf(address)) {
    case "ipv4":
      return !special4.check(address, "ipv4")
    case "ipv6":
      return global6.check(address, "ipv6") && !special6.check(address, "ipv6")
    case undefined:
      return false
  }
}

const familyOf = (address: string): "ipv4" | "ipv6" | undefined => {
  switch (Net.isIP(address)) {
    case 4:
      return "ipv4"
    case 6:
      return "ipv6"
    default:
      return undefined
  }
}

const special4 = blockList(specialV4)
const global6 = blockList(globalV6)
const special6 = blockList(specialV6)
