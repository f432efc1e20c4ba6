mod damage;
mod graphs;
mod make;
mod switches;
mod types;
