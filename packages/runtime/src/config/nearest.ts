export { distance, nearest } from 'holdfast/engine'
