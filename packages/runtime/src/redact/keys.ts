/** Words that make a key secret wherever they stand in it. */
const ANYWHERE = /_(?:password|passwd|pwd|passphrase|authorization)_/

/** Words that make a key secret where they end it: `token`, but not `token_count`. */
const AT_THE_END =
  /_(?:(?:set_)?cookies?|secrets?|token|jwt|credentials?|(?:api|access|private|secret|signing|encryption)_keys?)_$/

/** The same for keys whose words are run together. */
const RUN_TOGETHER = /(?:password|passwd|token|apikey|accesskey|privatekey|secretkey|clientsecret|setcookie)$/

/** `dbPassword`, `DB-PASSWORD` and `db_password` as `_db_password_`. */
const words = (key: string) =>
  `_${key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase()}_`

const flat = (key: string) => key.replace(/[^A-Za-z0-9]+/g, '').toLowerCase()

/** How many keys are remembered, and how long they may be: they come from outside. */
const MEMORY = 2000
const LONGEST = 100

/** Makes the test whether what lies under a key is secret: by its name, or because it is one of `keys` in any spelling. */
export function secretKeys(keys: readonly string[]): (key: string) => boolean {
  const own = new Set(keys.map(flat))
  const known = new Map<string, boolean>()
  const judge = (key: string) => {
    const spelt = words(key.slice(0, LONGEST))
    return (
      ANYWHERE.test(spelt) ||
      AT_THE_END.test(spelt) ||
      RUN_TOGETHER.test(flat(key.slice(-LONGEST))) ||
      own.has(flat(key))
    )
  }
  return (key) => {
    let secret = known.get(key)
    if (secret === undefined) {
      secret = judge(key)
      if (known.size < MEMORY && key.length <= LONGEST) known.set(key, secret)
    }
    return secret
  }
}
