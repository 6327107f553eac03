import { suite } from './suite.js'

suite('standard')
