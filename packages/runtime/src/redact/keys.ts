/** What may follow the word that makes a key secret: `privateKeyPem`, `secret_value`, `password1`. */
const MORE = '(?:_?(?:value|pem|der|text|string|base64|b64|hex|plain|raw|old|new|current|previous|\\d+))*'

/** Words that make a key secret wherever they stand in it. */
const ANYWHERE = /_(?:pass_?words?\d*|passwd\d*|pwd\d*|pass_?phrases?\d*|authorization)_/

/** Words that make a key secret where they end it: `token`, but not `token_count`. */
const AT_THE_END = new RegExp(
  `_(?:(?:set_)?cookies?|secrets?|token|jwt|credentials?|(?:api|access|auth|private|secret|signing|encryption)_keys?)${MORE}_$`,
)

/** The same for keys whose words are run together. */
const RUN_TOGETHER =
  /(?:password|passwd|passphrase|token|apikey|accesskey|authkey|privatekey|secretkey|clientsecret|setcookie)s?(?<!tokens)\d*$/

/** Words that end the key of a text, or of a list of texts, that is secret; anything else under them is looked into. */
const OF_TEXTS = /_(?:pass|pw|auth)\d*_$/

/** Those of secrets or of how many there are: `tokens`, but not `max_tokens`. */
const OF_MANY =
  /_(?<!_(?:max|min|total|num|used|prompt|completion|input|output|cached|reasoning|remaining|new|text|audio)_)tokens_$/

/** `dbPassword`, `DB-PASSWORD` and `db_password` as `_db_password_`. */
const words = (key: string) =>
  `_${key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase()}_`

const flat = (key: string) => key.replace(/[^\p{L}\p{N}]+/gu, '').toLowerCase()

/** How many keys are remembered, and how long they may be: they come from outside. */
const MEMORY = 2000
const LONGEST = 100

const ALWAYS = 'always'
const TEXTS = 'texts'
const UNCOUNTED = 'uncounted'

/** What makes a value secret under a key. */
type Judgement = typeof ALWAYS | typeof TEXTS | typeof UNCOUNTED | undefined

/** Tells whether what lies under a key is secret. */
export type IsSecret = (key: string, held: unknown) => boolean

/** Makes the test whether what lies under a key is secret: by its name, or because it is one of `keys` in any spelling. */
export function secretKeys(keys: readonly string[]): IsSecret {
  const own = new Set(keys.map(flat).filter((key) => key !== ''))
  const known = new Map<string, Judgement>()
  const judge = (key: string): Judgement => {
    const spelt = words(key.slice(0, LONGEST))
    if (
      ANYWHERE.test(spelt) ||
      AT_THE_END.test(spelt) ||
      RUN_TOGETHER.test(flat(key.slice(-LONGEST))) ||
      own.has(flat(key))
    )
      return ALWAYS
    return OF_TEXTS.test(spelt) ? TEXTS : OF_MANY.test(spelt) ? UNCOUNTED : undefined
  }
  return (key, held) => {
    if (held === null || held === undefined) return false
    let judgement = known.get(key)
    if (judgement === undefined && !known.has(key)) {
      judgement = judge(key)
      if (known.size < MEMORY && key.length <= LONGEST) known.set(key, judgement)
    }
    switch (judgement) {
      case ALWAYS:
        return true
      case TEXTS:
        return typeof held === 'string' || Array.isArray(held)
      case UNCOUNTED:
        return typeof held === 'string' || typeof held === 'object'
      case undefined:
        return false
    }
  }
}
