import { assert, it } from "@effect/vitest"
import * as Addresses from "../../src/internal/addresses.ts"

it("public is what is neither this machine nor a network it may be in, in every way of writing it", () => {
  const inside = [
    "127.0.0.1",
    "127.255.255.255",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fd00::1",
    "ff02::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "localhost",
    "",
    "1.2.3",
    "08.8.8.8"
  ]
  for (const address of inside) assert.isFalse(Addresses.isPublic(address), address)
  for (const address of ["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "2a00::1"]) {
    assert.isTrue(Addresses.isPublic(address), address)
  }
})

it("a list holds addresses and networks of both families, and refuses what is neither", () => {
  const list = Addresses.blockList(["127.0.0.1", "10.0.0.0/8", "fd00::/8", "::1"])
  for (const address of ["127.0.0.1", "10.9.9.9", "fd12::1", "::1"]) assert.isTrue(Addresses.contains(list, address))
  for (const address of ["127.0.0.2", "11.0.0.1", "fe80::1", "::2", "localhost"]) {
    assert.isFalse(Addresses.contains(list, address))
  }
  for (const wrong of ["localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/x", "::/129", ""]) {
    assert.throws(() => Addresses.blockList([wrong]), RangeError)
  }
})
