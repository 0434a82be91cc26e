/** What a wire and whoever hands on its requests tell each other about a peer that does not read. */

export interface Flow {
  /** Whether the peer has left as much unread as it may. */
  readonly full: boolean
  /** Called when the peer has read some of it. */
  onroom?: () => void
  /** Told whether requests are held back. */
  readonly holding: (held: boolean) => void
}
