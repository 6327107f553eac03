import { REDACTED } from 'holdfast/internal'

/** The longest text. The rest is truncated, so that no pattern takes long. */
const MAX_TEXT_LENGTH = 8192

/** How much more than the result is searched, because a truncated secret at the end would not be recognized. */
const CUT_MARGIN_CHARS = 1024

/** A name that is followed by a secret: `api_key=…`, `"clientSecret": "…"`, `X-Api-Key: …`. */
const SECRET_NAME =
  '\\b[\\w-]{0,40}(?:passw(?:or)?ds?|pwd|pass[_-]?phrase|secret|token|(?:auth|access|refresh|session)[_-]?tokens|credential|(?:api|access|auth|private|secret)[_-]?key)(?:[_-]?(?:value|pem)|\\d+)?'

/** A name that is followed by a secret if the value is in quotes. */
const SHORT_SECRET_NAME = '\\b(?:[\\w-]{0,40}[_-])?(?:pass|pw|auth)'

/** A fast check: no rule below matches a text that this does not match, which is the case for most texts. */
const MAY_HOLD_SECRET =
  /:\/\/|@|beare|basic|digest|auth|cookie|pass|pwd?\b|secret|token|credential|api.?key|access.?key|private.?key|[?&](?:key|sig|signature)=|x-amz-|eyJ|sk-|_live_|_test_|gh[pousr]_|github_|glpat|xox|xapp|A[KS]IA|AIza|npm_|hf_|SG\.|ya29|ntn_|whsec|shpat|BEGIN/i

/** The name of a header and the separator before its value. A header and its value can be items of a list. */
const headerPattern = (name: string) =>
  `\\b((?:${name})(?:\\\\*["']?\\s*[:=]|\\\\*["']\\s*,)\\s*(?:\\[\\s*)?)`
const AUTHORIZATION = headerPattern('(?:proxy-)?authorization')
const COOKIE = headerPattern('(?:set-)?cookie')

/** The start of a value that is not in quotes and not redacted yet. */
const UNQUOTED_START = '(?!\\s|\\[?\\s*\\\\*["\']|\\[?redacted\\])'

/** The separator between a name and its value. */
const SEPARATOR = '\\s*(?:=>|=(?!>)|:)\\s*'

/** A value in quotes, up to the same quote. Quotes of a text inside a text are escaped. */
const QUOTED_VALUE = '(\\\\*["\'])(?:(?!(?<!\\\\)\\2)[^\\r\\n])*'

/** The value of a scheme whose values are one word. */
const SINGLE_WORD_SCHEME = '(?:bearer|basic)\\s+[\\w.~+/=-]+(?![^\\s,;"\'\\\\)}\\]])'

/** A value without quotes, up to the end of the line or of the quoted text around it. Its parameters can be quoted. */
const UNQUOTED_VALUE =
  '(?:=\\s*\\\\*["\'][^"\'\\r\\n]*["\']|["\'](?=\\w)|\\\\(?![nr"\'\\\\])|[^"\'\\\\\\r\\n])+'

/** A pattern and its replacement. */
type RedactionRule = readonly [pattern: RegExp, replacement: string]

/** Rules for the value after a name: a text in quotes with escapes, a quoted text inside another text, or a word. */
function valueRules(name: string, flags = 'gi'): RedactionRule[] {
  return [
    [
      new RegExp(`(${name}["']?${SEPARATOR})(["'])(?:\\\\[\\s\\S]|(?!\\2)[^\\\\])*\\2?`, flags),
      `$1$2${REDACTED}$2`,
    ],
    [
      // The value ends before backslashes with a quote. Other backslashes are read as one run, so that none is read twice.
      new RegExp(`(${name}\\\\+["']${SEPARATOR})(\\\\+["'])(?:[^\\\\]|\\\\+(?!["'\\\\]))*`, flags),
      `$1$2${REDACTED}`,
    ],
    [new RegExp(`(${name}["']?${SEPARATOR})(?!\\[redacted\\])[^\\s&,;"'}\\])\\\\]+`, flags), `$1${REDACTED}`],
  ]
}

const RULES: readonly RedactionRule[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*-----|$)/g, REDACTED],
  // A password may contain characters that are not valid in a URL. Everything up to the last @ belongs to it then.
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@:"'<>]*:(?!\d{1,5}(?:[/?#]|$))[^\s"'<>]*@/gi, `$1${REDACTED}@`],
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#"'<>]*@/gi, `$1${REDACTED}@`],
  [/(^|[\s"'=(,])[\w.%+-]{1,64}:[^\s:@/"']{1,256}@(?=[\w.-]+:\d)/g, `$1${REDACTED}@`],
  // There are many schemes, and most values have more than one word, so the whole value is redacted.
  [new RegExp(`${AUTHORIZATION}${QUOTED_VALUE}`, 'gi'), `$1$2${REDACTED}`],
  [
    new RegExp(`${AUTHORIZATION}${UNQUOTED_START}(?:${SINGLE_WORD_SCHEME}|${UNQUOTED_VALUE})`, 'gi'),
    `$1${REDACTED}`,
  ],
  [/\b(digest\s+)(?=[^\r\n]*\busername=)[^\r\n]*/gi, `$1${REDACTED}`],
  [new RegExp(`${COOKIE}${QUOTED_VALUE}`, 'gi'), `$1$2${REDACTED}`],
  [new RegExp(`${COOKIE}${UNQUOTED_START}${UNQUOTED_VALUE}`, 'gi'), `$1${REDACTED}`],
  [
    /\b(bearer\s+)(?!(?:token|auth|authentication|authorization|scheme|realm|credentials?|is|was|has|in|for|and|or|not)\b)[\w.~+/=-]+/gi,
    `$1${REDACTED}`,
  ],
  [/\b([Bb]asic\s+)(?=\S*(?:\d|=|[a-z][A-Z]|[A-Z]{2}))[A-Za-z0-9+/]{3,}={0,2}/g, `$1${REDACTED}`],
  ...valueRules(SECRET_NAME),
  [new RegExp(`(${SHORT_SECRET_NAME}(?:\\\\*["'])?${SEPARATOR})${QUOTED_VALUE}`, 'gi'), `$1$2${REDACTED}`],
  [/\b((?:[\w-]{0,40}[_-])?(?:pass|pw)=)(?!\[redacted\]|\\*["'])[^&\s,;"'<>)}\]\\]+/gi, `$1${REDACTED}`],
  [/([?&](?:key|sig|signature|auth|x-amz-[a-z-]+)=)[^&\s"'<>]+/gi, `$1${REDACTED}`],
  [/\beyJ[\w-]{5,}\.[\w-]{3,}(?:\.[\w-]*)?/g, REDACTED],
  [
    /\b(?:sk-[\w-]{6,}|(?:sk|rk|pk)_(?:live|test)_\w{6,}|whsec_\w{6,}|gh[pousr]_\w{10,}|github_pat_\w{10,}|glpat-[\w-]{10,}|xox[a-z]-[\w-]{6,}|xapp-[\w-]{6,}|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|npm_\w{20,}|hf_\w{16,}|SG\.[\w-]{10,}\.[\w-]{10,}|ya29\.[\w-]{10,}|ntn_\w{16,}|shpat_\w{16,})/g,
    REDACTED,
  ],
]

/** Patterns for the secret names of the user in texts. */
export interface UserSecretNames {
  /** Matches any of the names. */
  readonly anyName: RegExp
  /** Matches a name before a list or an object. */
  readonly nameBeforeObject: RegExp
  readonly rules: readonly RedactionRule[]
}

/** A pattern for all spellings of a name: `my_thing`, `myThing`, `MY-THING`, `mything`. Empty without letters and digits. */
const anySpelling = (key: string): string => (key.match(/[\p{L}\p{N}]/gu) ?? []).join('[_.-]?')

/** Creates the patterns for names of the user, which match whole names in any spelling. Undefined without names. */
export function createUserSecretNames(keys: readonly string[]): UserSecretNames | undefined {
  const names = keys.map(anySpelling).filter((name) => name !== '')
  if (names.length === 0) return undefined
  const name = `(?<![\\p{L}\\p{N}][_-]?)(?:${names.join('|')})(?![\\p{L}\\p{N}_-])`
  return {
    anyName: new RegExp(name, 'iu'),
    nameBeforeObject: new RegExp(`${name}\\\\*["']?${SEPARATOR}(?=[\\[{])(?!\\[redacted\\])`, 'giu'),
    rules: valueRules(name, 'giu'),
  }
}

/** Redacts the values after names of the user. */
function redactUserNames(text: string, { nameBeforeObject, rules }: UserSecretNames): string {
  let result = ''
  let from = 0
  for (const { 0: name, index } of text.matchAll(nameBeforeObject)) {
    if (index < from) continue
    const start = index + name.length
    result += text.slice(from, start) + REDACTED
    from = endOfValue(text, start)
  }
  result += text.slice(from)
  for (const [pattern, replacement] of rules) result = result.replace(pattern, replacement)
  return result
}

/** The end of the list or object that begins at an index; the end of the text if it is not closed. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  let isQuoted = false
  for (let i = start; i < text.length; i++) {
    const character = text[i] as string
    if (character === '\\') i++
    else if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === '[' || character === '{') depth++
    else if ((character === ']' || character === '}') && --depth === 0) return i + 1
  }
  return text.length
}

/** The searched part of a long text. A truncated URL at its end is removed, because its credentials cannot be recognized. */
const truncate = (text: string) =>
  text.slice(0, MAX_TEXT_LENGTH + CUT_MARGIN_CHARS).replace(/:\/\/[^\s"'<>]*$/, '://')

/**
 * Redacts credentials in a text: those of URLs and headers, values after a name such as `password=` or a name of the user, keys and
 * tokens of known formats, and matches of the patterns. The text is truncated after 8,192 characters.
 */
export function redactText(
  text: string,
  patterns: readonly RegExp[] = [],
  userNames?: UserSecretNames,
): string {
  const isLong = text.length > MAX_TEXT_LENGTH
  let result = isLong ? truncate(text) : text
  if (MAY_HOLD_SECRET.test(result))
    for (const [pattern, replacement] of RULES) result = result.replace(pattern, replacement)
  if (userNames?.anyName.test(result)) result = redactUserNames(result, userNames)
  for (const pattern of patterns) result = result.replace(pattern, REDACTED)
  if (!isLong) return result
  const kept = result.slice(0, Math.max(0, Math.min(MAX_TEXT_LENGTH, result.length - CUT_MARGIN_CHARS)))
  return `${kept}… (${text.length} characters)`
}
