import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { isHoldfastError } from '../../src/index.js'
import { type ParsedMember, parseMemberList } from '../../src/pool/member-list.js'

/** A password in lists, which no message can repeat. */
const SECRET = 'hunter2'

const WORDS = [
  'http://a.example:8080',
  `http://ann:${SECRET}@a.example`,
  `a.example:8080:ann:${SECRET}`,
  'a.example:80',
  '[::1]:8080',
  'weight=2',
  'weight=-1',
  'weight=1e999',
  'cost=',
  'region=eu',
  'tags=a;b',
  'id=a',
  '__proto__=x',
  'constructor=x',
  '#',
  '=',
  'url,weight',
  'host,port,username,password',
  `"${SECRET}""x",1`,
  '{"url":"http://a.example"}',
  `{"host":"a","port":1,"username":"u","password":"${SECRET}"}`,
  '{"__proto__":{"polluted":1}}',
  '{"members":',
  '[',
  ']',
  '{',
  '}',
  ',',
  'null',
  '{"url":["a",{}],"tags":[null,1]}',
]
const separator = fc.constantFrom(' ', '\n', '\r\n', ',', '', '\t')
const list = fc
  .array(
    fc.tuple(
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...WORDS) }, fc.string({ maxLength: 12 })),
      separator,
    ),
    {
      maxLength: 10,
    },
  )
  .map((parts) => parts.flat().join(''))

function checkMember(member: ParsedMember): void {
  if (typeof member.url !== 'string' || typeof member.location !== 'string')
    throw new Error('a member without a URL or a position')
  for (const name of ['id', 'region'] as const)
    if (member[name] !== undefined && typeof member[name] !== 'string')
      throw new Error(`${name} is not a text`)
  for (const name of ['weight', 'cost'] as const)
    if (member[name] !== undefined && !(member[name] >= 0)) throw new Error(`${name} is not a number from 0`)
  if (member.tags !== undefined && !member.tags.every((tag) => typeof tag === 'string'))
    throw new Error('a tag is not a text')
}

/** Lists of pool members: each is a list of members, or an error that names the positions and repeats no content. */
export const target: FuzzTarget = {
  name: 'member-lists',
  cases: list.map((text) => Buffer.from(text)),
  dictionary: WORDS,
  open: async () => {
    const counts = { lists: 0, errors: 0 }
    return {
      check(bytes) {
        try {
          const members = parseMemberList(bytes.toString('utf8'), (member) => member)
          members.forEach(checkMember)
          counts.lists++
        } catch (error) {
          if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error
          const details = (error as { details?: unknown }).details
          if (!Array.isArray(details) || details.length === 0) throw new Error('an error without details')
          if (`${error.message} ${JSON.stringify(error)}`.includes(SECRET))
            throw new Error('an error shows the password')
          counts.errors++
        }
        if (Object.keys(Object.prototype).length > 0 || 'polluted' in Object.prototype)
          throw new Error('the prototype of objects has new keys')
      },
      async close() {
        const cases = counts.lists + counts.errors
        if (cases > 500 && Math.min(counts.lists, counts.errors) < cases / 50)
          throw new Error(`${counts.lists} lists were valid and ${counts.errors} were not`)
      },
    }
  },
}
