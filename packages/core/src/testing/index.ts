export { type FakeClock, fakeClock } from './fake-clock.js'
export { type Scripted, scripted } from './scripted.js'
export { seededRandom } from './seeded-random.js'
