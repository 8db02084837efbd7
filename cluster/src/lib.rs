//! Many processes as one; for now what one process needs: workers of one machine.
