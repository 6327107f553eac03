// `npm run example:llm`: sends questions while the providers work, reach their rate limits, stop answering and fail.
import { guardModels } from './guards.js'
import { anthropic, openai } from './providers.js'
import { type Mood, startModel } from './servers.js'

const servers = {
  first: await startModel('openai'),
  second: await startModel('anthropic'),
  third: await startModel('openai'),
  cheap: await startModel('openai'),
}
const models = guardModels(
  {
    first: openai(servers.first.url, 'large-1'),
    second: anthropic(servers.second.url, 'large-2'),
    third: openai(servers.third.url, 'large-3'),
  },
  openai(servers.cheap.url, 'small'),
)

let failed = 0
function check(what: string, holds: boolean): void {
  console.log(`  ${holds ? 'ok  ' : 'FAIL'} ${what}`)
  if (!holds) failed++
}
const mood = (first: Mood, second: Mood, third: Mood): void => {
  servers.first.mood = first
  servers.second.mood = second
  servers.third.mood = third
  for (const server of Object.values(servers)) server.asked = 0
  for (const { id } of models.pool.members()) {
    models.pool.breaker(id).reset()
    models.pool.enable(id)
  }
}
const ask = async (question: string): Promise<string> => {
  const answer = await models.ask(question)
  console.log(`  ${answer}`)
  return answer
}

console.log('all providers work: requests are distributed')
mood('well', 'well', 'well')
// Three questions are enough if each is answered at once. A slow answer starts a hedged request to another model, which
// changes the order.
const answers = new Set<string>()
for (let questions = 0; questions < 12 && answers.size < 3; questions++)
  answers.add(await ask('who are you?'))
check('three models answered', answers.size === 3)

console.log('the first provider answers 429: it gets a cooldown, and the others answer')
mood('rate limited', 'well', 'well')
for (let i = 0; i < 4; i++) await ask('what is a limit?')
check('it received one request', servers.first.asked === 1)
check(
  'it is in its cooldown, and its breaker is closed',
  models.pool.status('first') === 'resting' && models.pool.breaker('first').state === 'closed',
)

console.log('the first provider does not answer: a hedged request starts after one second')
mood('silent', 'well', 'well')
const quick = [await ask('are you there?'), await ask('are you there?'), await ask('are you there?')]
check(
  'every question was answered',
  quick.every((answer) => answer.includes('letters')),
)

console.log('the first provider is down: a streamed answer comes from another one')
mood('down', 'well', 'well')
const pieces: string[] = []
for await (const piece of await models.stream('tell me a story')) pieces.push(piece)
console.log(`  ${pieces.join('|')}`)
check('it arrived in the five chunks in which it was sent', pieces.length === 5)

console.log('all three providers are down: the fallback model answers')
mood('down', 'down', 'down')
check('the answer came from the fallback', (await ask('are you available?')).startsWith('small'))

console.log('40 questions during the outage: the retry budget limits the retries')
mood('down', 'down', 'down')
const many = await Promise.all(Array.from({ length: 40 }, () => models.ask('still down?')))
const { first, second, third, cheap } = servers
const attempts = first.asked + second.asked + third.asked
console.log(
  `  ${attempts} requests to the large models for 40 questions; without budget and breakers there would be 120`,
)
check(
  'the fallback model answered all questions',
  cheap.asked === 40 && many.every((text) => text.startsWith('small')),
)
check('the large models received at most 80 requests', attempts <= 80)

for (const server of Object.values(servers)) server.close()
console.log(failed === 0 ? 'all checks passed' : `${failed} checks failed`)
process.exitCode = failed === 0 ? 0 : 1
