/** Suffixes after the word that makes a key secret: `privateKeyPem`, `secret_value`, `password1`. */
const SUFFIX_PATTERN =
  '(?:_?(?:value|pem|der|text|string|base64|b64|hex|plain|raw|old|new|current|previous|\\d+))*'

/** Words that make a key secret anywhere in it. */
const SECRET_ANYWHERE = /_(?:pass_?words?\d*|passwd\d*|pwd\d*|pass_?phrases?\d*|authorization)_/

/** Words that make a key secret at its end: `token`, but not `token_count`. */
const SECRET_AT_END = new RegExp(
  `_(?:(?:set_)?cookies?|secrets?|token|jwt|credentials?|(?:api|access|auth|private|secret|signing|encryption)_keys?)${SUFFIX_PATTERN}_$`,
)

/** The same for keys without separators between words. */
const SECRET_RUN_TOGETHER =
  /(?:password|passwd|passphrase|token|apikey|accesskey|authkey|privatekey|secretkey|clientsecret|setcookie)s?(?<!tokens)\d*$/

/** Words at the end of a key that make texts and lists of texts secret. Other values are copied and redacted inside. */
const SECRET_STRINGS = /_(?:pass|pw|auth)\d*_$/

/** Names of either secrets or counts: `tokens` is secret, `max_tokens` is not. */
const SECRET_UNLESS_COUNT =
  /_(?<!_(?:max|min|total|num|used|prompt|completion|input|output|cached|reasoning|remaining|new|text|audio)_)tokens_$/

/** Converts `dbPassword`, `DB-PASSWORD` and `db_password` to `_db_password_`. */
const toSnakeWords = (key: string) =>
  `_${key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase()}_`

const toFlatKey = (key: string) => key.replace(/[^\p{L}\p{N}]+/gu, '').toLowerCase()

/** How many keys are cached, and their longest length. Keys are untrusted input. */
const MAX_CACHED_KEYS = 2000
const MAX_KEY_LENGTH = 100

const ALWAYS = 'always'
const STRINGS_ONLY = 'texts'
const NON_NUMERIC = 'uncounted'

/** Which values of a key are secret. */
type KeySecrecy = typeof ALWAYS | typeof STRINGS_ONLY | typeof NON_NUMERIC | undefined

/** Whether the value of a key is secret. */
export type IsSecret = (key: string, value: unknown) => boolean

/** Creates the check whether the value of a key is secret: by its name, or because it is one of `keys` in any spelling. */
export function createSecretKeyTest(keys: readonly string[]): IsSecret {
  const userKeys = new Set(keys.map(toFlatKey).filter((key) => key !== ''))
  const cache = new Map<string, KeySecrecy>()
  const classifyKey = (key: string): KeySecrecy => {
    const words = toSnakeWords(key.slice(0, MAX_KEY_LENGTH))
    if (
      SECRET_ANYWHERE.test(words) ||
      SECRET_AT_END.test(words) ||
      SECRET_RUN_TOGETHER.test(toFlatKey(key.slice(-MAX_KEY_LENGTH))) ||
      userKeys.has(toFlatKey(key))
    )
      return ALWAYS
    return SECRET_STRINGS.test(words)
      ? STRINGS_ONLY
      : SECRET_UNLESS_COUNT.test(words)
        ? NON_NUMERIC
        : undefined
  }
  return (key, value) => {
    if (value === null || value === undefined) return false
    let secrecy = cache.get(key)
    if (secrecy === undefined && !cache.has(key)) {
      secrecy = classifyKey(key)
      if (cache.size < MAX_CACHED_KEYS && key.length <= MAX_KEY_LENGTH) cache.set(key, secrecy)
    }
    switch (secrecy) {
      case ALWAYS:
        return true
      case STRINGS_ONLY:
        return typeof value === 'string' || Array.isArray(value)
      case NON_NUMERIC:
        return typeof value === 'string' || typeof value === 'object'
      case undefined:
        return false
    }
  }
}
