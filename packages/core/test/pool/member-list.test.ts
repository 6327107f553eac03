import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../../src/index.js'
import { type ParsedMember, parseMemberList } from '../../src/internal/index.js'
import { problemsOf } from './setup.js'

const same = (member: ParsedMember) => member
const parse = (text: string) => parseMemberList(text, same)
const urls = (text: string) => parse(text).map(({ url }) => url)
const problems = (text: string) => problemsOf(() => parse(text))

const FIELDS =
  'unknown field, expected one of url, protocol, host, port, username, password, id, weight, region, cost, tags'

describe('a list of members in lines', () => {
  it('has one member per line and ignores empty lines and comments', () => {
    const text = '# ours\n\nhttp://a:1\r\n  https://b:2  \n\t# theirs\nsocks5://c:3'
    expect(parse(text)).toEqual([
      { url: 'http://a:1', location: 'line 3' },
      { url: 'https://b:2', location: 'line 4' },
      { url: 'socks5://c:3', location: 'line 6' },
    ])
  })

  it('can be empty', () => {
    expect(parse('')).toEqual([])
    expect(parse('\n# no members\n')).toEqual([])
  })

  it.each([
    ['a:1', 'http://a:1'],
    ['user:secret@a:1', 'http://user:secret@a:1'],
    ['10.0.0.7:8080:user:p@ss:word', 'http://user:p%40ss%3Aword@10.0.0.7:8080'],
    ['a-b.example:1:u:p', 'http://u:p@a-b.example:1'],
    ['[::1]:8080', 'http://[::1]:8080'],
    // These are not in the format host:port:user:password.
    ['a b:1:u:p', undefined],
    ['a:b:u:p', 'http://a:b:u:p'],
    ['/a:1:u:p', 'http:///a:1:u:p'],
    ['a:1::p', 'http://a:1::p'],
  ])('can contain %s', (text, url) => {
    if (url === undefined) expect(problems(text)).toEqual([`line 1: ${FIELDS}`])
    else expect(urls(text)).toEqual([url])
  })

  it('can contain properties of a member as key=value', () => {
    expect(parse('a:1  id=x  weight=2.5 region=eu\tcost=0 tags=fast;cheap,new')).toEqual([
      {
        url: 'http://a:1',
        location: 'line 1',
        id: 'x',
        weight: 2.5,
        region: 'eu',
        cost: 0,
        tags: ['fast', 'cheap', 'new'],
      },
    ])
    expect(parse('10.0.0.7:1:u:p id=y=z')).toEqual([
      { url: 'http://u:p@10.0.0.7:1', location: 'line 1', id: 'y=z' },
    ])
  })

  it('is rejected with the positions of all invalid entries and without their content', () => {
    const text = 'a:1 weight=much\nb:1 colour=secret cost=-1\nc:1 word\nd:1 weight='
    expect(problems(text)).toEqual([
      'line 1: expected weight to be a number that is at least 0',
      `line 2: ${FIELDS}`,
      'line 2: expected cost to be a number that is at least 0',
      `line 3: ${FIELDS}`,
      'line 4: expected weight to be a number that is at least 0',
    ])
    expect(() => parse(text)).toThrow(
      /^invalid list of proxies: line 1: expected weight to be a number that is at least 0; line 2/,
    )
    expect(() => parse(text)).not.toThrow(/secret|much|colour/)
  })
})

describe('a list of members in CSV', () => {
  it('starts with the names of its columns', () => {
    expect(parse('Host, PORT ,username,password,id,region\na,1,u,p,x,eu\n# not here\nb,,,,,')).toEqual([
      { url: 'http://u:p@a:1', location: 'line 2', id: 'x', region: 'eu' },
      { url: 'http://b', location: 'line 4' },
    ])
    expect(urls('url,id\nhttp://a:1,x')).toEqual(['http://a:1'])
  })

  it('can have quoted values with commas and quotes', () => {
    expect(parse('url,tags,id\n"http://a:1","x,y;z","the ""one"""')).toEqual([
      { url: 'http://a:1', location: 'line 2', tags: ['x', 'y', 'z'], id: 'the "one"' },
    ])
    expect(parse('id,url\n,http://a:1')).toEqual([{ url: 'http://a:1', location: 'line 2' }])
  })

  it('is rejected when a line lacks a required field or has an unknown one', () => {
    expect(problems('url,id\n,x')).toEqual(['line 2: expected url, or host and port'])
    expect(problems('url,colour\nhttp://a:1,red\nhttp://b:1,')).toEqual([`line 2: ${FIELDS}`])
  })
})

describe('a list of members in JSON', () => {
  const one = { url: 'http://a:1' }

  it.each([
    ['an array', JSON.stringify([one])],
    ['under members', JSON.stringify({ members: [one] })],
    ['under proxies', JSON.stringify({ proxies: [one] })],
    ['after a byte order mark and whitespace', `\ufeff \n${JSON.stringify([one])}\n`],
  ])('can be %s', (_, text) => {
    expect(parse(text)).toEqual([{ url: 'http://a:1', location: 'entry 1' }])
  })

  it('can contain objects and strings', () => {
    const entries = [
      ' b:2 id=y ',
      { host: 'c', port: 3, username: 'u', password: 'p:', protocol: 'socks5://', id: 7, tags: ['x', 1] },
      { host: 'd', username: 'u', protocol: 'https:', weight: 2, cost: '3', region: null },
      { host: 'e', password: 'p', port: '5', protocol: 'http' },
    ]
    expect(parse(JSON.stringify(entries))).toEqual([
      { url: 'http://b:2', location: 'entry 1', id: 'y' },
      { url: 'socks5://u:p%3A@c:3', location: 'entry 2', id: '7', tags: ['x', '1'] },
      { url: 'https://u:@d', location: 'entry 3', weight: 2, cost: 3 },
      { url: 'http://e:5', location: 'entry 4' },
    ])
  })

  it('is rejected with the positions of all invalid entries', () => {
    expect(problems('[{ "url": "http://u:secret@a:1" ]')).toEqual(['starts like JSON, but is not valid JSON'])
    const list = 'expected a JSON array, or an object with an array members or proxies'
    expect(problems('{}')).toEqual([list])
    expect(problems('{ "members": 1 }')).toEqual([list])
    expect(problems('[null, { "url": "http://a:1", "weight": true }, { "id": "x" }]')).toEqual([
      'entry 1: expected url, or host and port',
      `entry 2: ${FIELDS}`,
      'entry 3: expected url, or host and port',
    ])
  })
})

describe('the callback of parseMemberList', () => {
  it('determines the returned members', () => {
    expect(parseMemberList('a:1\nb:2', ({ url }) => url.length)).toEqual([10, 10])
  })

  it('can throw, and its error is reported with the position of the entry', () => {
    const make = ({ url, location }: ParsedMember) => {
      if (location === 'line 1') throw new Error('too short')
      if (location === 'line 2')
        throw new HoldfastError('INVALID_OPTIONS', 'no', { details: ['too long', 'too wide'] })
      return url
    }
    expect(problemsOf(() => parseMemberList('a:1\nb:2\nc:3 weight=x', make))).toEqual([
      'line 1: too short',
      'line 2: too long',
      'line 2: too wide',
      'line 3: expected weight to be a number that is at least 0',
    ])
  })
})
