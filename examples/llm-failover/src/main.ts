// `npm run example:llm`: one question after another, while the providers behave and misbehave.
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
  console.log(`  ${holds ? 'yes' : 'NO '}  ${what}`)
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

console.log('all is well: each in turn')
mood('well', 'well', 'well')
// Three questions are enough where each is answered at once. A slow answer makes the guard ask a second model beside the
// first one, and then the turns shift.
const answers = new Set<string>()
for (let questions = 0; questions < 12 && answers.size < 3; questions++)
  answers.add(await ask('who are you?'))
check('three models answered', answers.size === 3)

console.log('the first is at its limit: it rests, and others answer')
mood('rate limited', 'well', 'well')
for (let i = 0; i < 4; i++) await ask('what is a limit?')
check('it was asked once', servers.first.asked === 1)
check('it rests, with nothing held against it', models.pool.status('first') === 'resting')

console.log('the first says nothing: after a second another is asked beside it')
mood('silent', 'well', 'well')
const quick = [await ask('are you there?'), await ask('are you there?'), await ask('are you there?')]
check(
  'every question was answered',
  quick.every((answer) => answer.includes('letters')),
)

console.log('streamed answers come as they are sent')
mood('down', 'well', 'well')
const pieces: string[] = []
for await (const piece of await models.stream('tell me a story')) pieces.push(piece)
console.log(`  ${pieces.join('|')}`)
check('in the pieces in which they were sent', pieces.length === 5)

console.log('all three are down: the cheaper model answers')
mood('down', 'down', 'down')
check('it did', (await ask('is anybody there?')).startsWith('small'))

console.log('forty questions in an outage: the budget ends the retries')
mood('down', 'down', 'down')
const many = await Promise.all(Array.from({ length: 40 }, () => models.ask('still down?')))
const { first, second, third, cheap } = servers
const attempts = first.asked + second.asked + third.asked
console.log(
  `  ${attempts} attempts at the large models for 40 questions; without a budget and breakers it would be 120`,
)
check(
  'all were answered by the cheaper model',
  cheap.asked === 40 && many.every((text) => text.startsWith('small')),
)
check('there was little retrying', attempts <= 80)

for (const server of Object.values(servers)) server.close()
console.log(failed === 0 ? 'all as it should be' : `${failed} things are not as they should be`)
process.exitCode = failed === 0 ? 0 : 1
